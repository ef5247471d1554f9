"""Synonyms of event names, and the built-in conversion set."""

from typing import Final

from service_core.analytics.ports import ConversionSet
from service_core.ingestion.event_names import (
    CHECKOUT_EVENTS,
    LEAD_EVENTS,
    PAGE_VIEWS,
    PURCHASE_EVENTS,
    SIGNUP_EVENTS,
    SUBSCRIPTION_EVENTS,
    TRIAL_EVENTS,
)

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
