"""Decides which events are conversions."""

from service_core.analytics.event_rules.event_synonyms import list_event_synonyms
from service_core.analytics.event_rules.revenue_events import is_revenue_event
from service_core.analytics.ports import ConversionSet
from service_core.ingestion.event_names import REFUND_EVENTS
from service_core.ingestion.models import Event


def canonical_event_name(name: str) -> str:
    """Returns one name for all synonyms: ``order_paid`` and ``purchase`` give the same."""
    return min(list_event_synonyms(name))


def is_non_bot_conversion_by_name_or_revenue(event: Event, conversion_set: ConversionSet) -> bool:
    """Whether an event is a conversion, before duplicate orders are removed.

    Events of bots and test events never are. Names of the set always are. Money above 0 (`is_revenue_event`)
    makes any other event a conversion, except refunds.
    """
    if event.is_bot or event.is_test:
        return False
    if event.event_name in conversion_set.names:
        return True
    paid = conversion_set.any_revenue and (event.revenue or 0) > 0
    return (
        paid and event.event_name not in REFUND_EVENTS and is_revenue_event(event.event_name, conversion_set)
    )
