"""Synonyms of event names, and the built-in conversion set."""

from typing import Final

from service_core.analytics.ports import ConversionSet
from service_core.ingestion.models import PAGE_VIEWS

SIGNUP_EVENTS: Final = frozenset({"signup", "sign_up", "complete_registration"})
LEAD_EVENTS: Final = frozenset({"lead"})
ADD_TO_CART_EVENTS: Final = frozenset({"add_to_cart"})
CHECKOUT_EVENTS: Final = frozenset({"checkout_started", "begin_checkout", "initiate_checkout"})
PURCHASE_EVENTS: Final = frozenset({"purchase", "order_completed", "order_paid"})
SUBSCRIPTION_EVENTS: Final = frozenset({"subscribe", "subscription_started"})
TRIAL_EVENTS: Final = frozenset({"start_trial", "trial_started"})

_SYNONYM_GROUPS: Final = (
    PAGE_VIEWS,
    SIGNUP_EVENTS,
    CHECKOUT_EVENTS,
    PURCHASE_EVENTS,
    SUBSCRIPTION_EVENTS,
    TRIAL_EVENTS,
)

DEFAULT_CONVERSION_SET: Final = ConversionSet(
    SIGNUP_EVENTS | LEAD_EVENTS | PURCHASE_EVENTS | SUBSCRIPTION_EVENTS | TRIAL_EVENTS
)
"""The conversion set of a workspace that has not replaced it."""


def list_event_synonyms(name: str) -> frozenset[str]:
    """Returns every event name that counts as ``name``, itself included."""
    return next((names for names in _SYNONYM_GROUPS if name in names), frozenset({name}))
