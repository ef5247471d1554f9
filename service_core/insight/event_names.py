"""Event names that mean the same (semantics 2.2), and those that convert (semantics 10.1)."""

from typing import Final

from service_core.insight.ports import ConversionSet
from service_core.intake.model import PAGE_VIEWS

SIGNUP: Final = frozenset({"signup", "sign_up", "complete_registration"})
LEAD: Final = frozenset({"lead"})
ADD_TO_CART: Final = frozenset({"add_to_cart"})
CHECKOUT_STARTED: Final = frozenset({"checkout_started", "begin_checkout", "initiate_checkout"})
PURCHASE: Final = frozenset({"purchase", "order_completed", "order_paid"})
SUBSCRIBE: Final = frozenset({"subscribe", "subscription_started"})
START_TRIAL: Final = frozenset({"start_trial", "trial_started"})

_SYNONYMS: Final = (PAGE_VIEWS, SIGNUP, CHECKOUT_STARTED, PURCHASE, SUBSCRIBE, START_TRIAL)

CONVERSIONS: Final = ConversionSet(SIGNUP | LEAD | PURCHASE | SUBSCRIBE | START_TRIAL)
"""The conversion set of a workspace that has not replaced it."""


def same_as(name: str) -> frozenset[str]:
    """Every event name that counts as ``name``, itself included."""
    return next((names for names in _SYNONYMS if name in names), frozenset({name}))
