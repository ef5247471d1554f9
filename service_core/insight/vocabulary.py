"""Event names with a meaning (semantics 2.2). Names of one set count as one event in metrics."""

from typing import Final

from service_core.insight.ports import ConversionSet

SIGNUP: Final = ("signup", "sign_up", "complete_registration")
LEAD: Final = ("lead",)
ADD_TO_CART: Final = ("add_to_cart",)
CHECKOUT: Final = ("checkout_started", "begin_checkout", "initiate_checkout")
PURCHASE: Final = ("purchase", "order_completed", "order_paid")
SUBSCRIBE: Final = ("subscribe", "subscription_started")
TRIAL: Final = ("start_trial", "trial_started")

DEFAULT_CONVERSIONS: Final = ConversionSet(frozenset((*SIGNUP, *LEAD, *PURCHASE, *SUBSCRIBE, *TRIAL)))
"""What converts when a workspace says nothing else: these names, and any event with revenue (semantics 10.1)."""
