"""Decides which events are part of a visit, and which event describes how a session began."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import groupby
from typing import Final

from service_core.analytics.event_rules.order_deduplication import event_time_key
from service_core.analytics.measures import Predicate
from service_core.ingestion.event_names import PAGE_VIEWS, is_system_event
from service_core.ingestion.models import Event

IS_VISIT_EVENT: Final = Predicate("from_device", value=True)
"""The condition of events that count as visitors and sessions: a device sent them, itself or through a server."""

ENTRY_VIEW_WINDOW: Final = timedelta(minutes=30)
"""A session that begins with a system event is described by its first page view within this time."""


def is_visit_event(event: Event) -> bool:
    """Returns whether an event counts as a visitor and a session: a device sent it, itself or through a server."""
    return event.from_device


def entry_event_with_page_view_over_system_event(visit_events: Sequence[Event]) -> Event:
    """Returns the event that describes how a session began: its source, campaign, landing page, device and location.

    It is the first event. A system event describes nothing when a page view follows within 30 minutes: then it is the
    first page view, whose own path is the landing page. Where bots are included, the events of people and of bots each
    have an entry event, and the one of the side that began counts.

    Args:
        visit_events: the events of the session, oldest first, at least one.
    """
    by_side = sorted(visit_events, key=lambda event: event.is_bot)
    sides = [list(side) for _, side in groupby(by_side, key=lambda event: event.is_bot)]
    began_first = min(sides, key=lambda side: event_time_key(side[0]))
    first = began_first[0]
    view = next((event for event in began_first if event.event_name in PAGE_VIEWS), None)
    if view is None or not is_system_event(first.event_name):
        return first
    if view.timestamp - first.timestamp > ENTRY_VIEW_WINDOW:
        return first
    return replace(view, landing_page=view.page_path)
