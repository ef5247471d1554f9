"""Finds all stored reports of an order: the events that share an order, payment or message id, directly or through others."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from service_core.access.models import Workspace
from service_core.analytics.event_rules.order_deduplication import (
    ORDER_DEDUP_WINDOW,
    REFUND,
    classify_as_charge_refund_or_no_payment,
    event_time_key,
    order_payment_and_message_ids,
)
from service_core.analytics.measures import FilterOperator, Predicate
from service_core.analytics.ports import ConversionSet, EventPageQuery, EventReader, QueryScope
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.ingestion.models import Event
from service_core.kernel.time_ranges import TimeRange

_ID_COLUMNS: Final = ("order_id", "payment_id", "message_id")
_MAX_SEARCHES: Final = 3
"""A report may be linked through another one; longer chains do not occur."""
_MAX_REPORTS: Final = 2_000


@dataclass(frozen=True, slots=True)
class OrderReportReader:
    """Reads the reports of orders from the event store."""

    events: EventReader

    async def list_reports_by_event(
        self, workspace: Workspace, events: Sequence[Event]
    ) -> Mapping[int, Sequence[Event]]:
        """Returns all reports of the order of each event, by sequence number, oldest first, the event included.

        Bots and refunds are left out, and reports that are 7 days or more away from all events.

        Raises:
            StoreUnavailable: events cannot be read.
        """
        if not events:
            return {}
        times = [event.timestamp for event in events]
        span = TimeRange(
            min(times) - ORDER_DEDUP_WINDOW, max(times) + ORDER_DEDUP_WINDOW + datetime.resolution
        )
        scope = scope_for_workspace_without_bots(workspace, span)
        reports = {event.seq: event for event in events}
        searched: set[str] = set()
        for _ in range(_MAX_SEARCHES):
            ids = _ids_of(reports.values()) - searched
            if not ids:
                break
            searched |= ids
            reports |= {event.seq: event for event in await self._events_with_ids(scope, ids)}
        groups = _group_by_shared_id(_without_refunds(reports.values(), scope.conversions))
        return {event.seq: groups.get(event.seq, [event]) for event in events}

    async def _events_with_ids(self, scope: QueryScope, ids: set[str]) -> list[Event]:
        found: list[Event] = []
        for column in _ID_COLUMNS:
            condition = Predicate(column, FilterOperator.IN, tuple(sorted(ids)))
            query = EventPageQuery(replace(scope, filters=(condition,)), _MAX_REPORTS, count_total=False)
            found += (await self.events.list_events(query)).events
        return found


def _ids_of(events: Iterable[Event]) -> set[str]:
    return {id_ for event in events for id_ in order_payment_and_message_ids(event)}


def _without_refunds(events: Iterable[Event], conversions: ConversionSet) -> list[Event]:
    return [
        event for event in events if classify_as_charge_refund_or_no_payment(event, conversions) != REFUND
    ]


def _group_by_shared_id(events: Iterable[Event]) -> Mapping[int, list[Event]]:
    """Returns the group of each event by its sequence number; events of a group are linked by ids they share."""
    group_by_id: dict[str, set[int]] = {}
    by_seq = {event.seq: event for event in events}
    for event in by_seq.values():
        ids = order_payment_and_message_ids(event)
        merged = {event.seq}.union(*(group_by_id.get(id_, ()) for id_ in ids))
        for id_ in _ids_of(by_seq[seq] for seq in merged):
            group_by_id[id_] = merged
    groups: defaultdict[int, list[Event]] = defaultdict(list)
    for seq, event in by_seq.items():
        ids = order_payment_and_message_ids(event)
        members = group_by_id[min(ids)] if ids else {seq}
        groups[seq] = sorted((by_seq[member] for member in members), key=event_time_key)
    return groups
