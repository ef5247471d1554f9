"""Names of events with a meaning to the service. Other names are custom events.

The names of a set are synonyms: they count as one event, and stored events keep the name that was sent.
"""

from typing import Final

PAGE_VIEWS: Final = frozenset({"pageview", "page_view", "$pageview"})
"""Page views."""

SESSION_START: Final = "session_start"
"""Start of a session as tracking libraries report it."""

SESSION_BOUNDARIES: Final = frozenset({SESSION_START, "session_end"})
"""Start and end of a session as tracking libraries report them; they are not billed."""

APP_OPENINGS: Final = frozenset({"app_install", "$deep_link"})
"""First openings of an app, and openings by a link."""

IDENTIFY_EVENT: Final = "$identify"
"""Links a visitor to a user and sets the user's traits."""

ALIAS_EVENT: Final = "$alias"
"""Links two ids of a person."""

SIGNUP_EVENTS: Final = frozenset({"signup", "sign_up", "complete_registration"})
"""Registrations; conversions by default."""

LEAD_EVENTS: Final = frozenset({"lead"})
"""Leads; conversions by default."""

ADD_TO_CART_EVENTS: Final = frozenset({"add_to_cart"})
"""Additions to a cart."""

CHECKOUT_EVENTS: Final = frozenset({"checkout_started", "begin_checkout", "initiate_checkout"})
"""Started checkouts."""

PURCHASE_EVENTS: Final = frozenset({"purchase", "order_completed", "order_paid"})
"""Paid orders; conversions by default."""

SUBSCRIPTION_EVENTS: Final = frozenset({"subscribe", "subscription_started"})
"""New subscriptions; conversions by default."""

TRIAL_EVENTS: Final = frozenset({"start_trial", "trial_started"})
"""Started trials; conversions by default."""

RENEWAL_EVENTS: Final = frozenset({"subscription_renewed"})
"""Renewals of subscriptions."""

RENEWAL_PROPERTY: Final = "is_renewal"
"""Property that is true if a purchase renews a subscription; an order whose report has it is no repeat purchase."""

TRIAL_CONVERSION_EVENTS: Final = frozenset({"trial_converted"})
"""First payments after a trial."""

REFUND_EVENTS: Final = frozenset({"refund"})
"""Refunds of orders."""

PAYMENT_FEE_EVENT: Final = "payment_fee"
"""A provider's report of the fee of a payment that other events report; it moves no money by itself."""

WEB_ATTRIBUTION_MATCHED: Final = "$web_attribution_matched"
"""An app install that was matched with a web visit."""


def is_system_event(name: str) -> bool:
    """Returns whether it is the name of a system event such as ``$identify`` or ``$alias``; page views are not."""
    return name.startswith("$") and name not in PAGE_VIEWS
