"""Copies the events of a workspace, day by day; a day that is complete is not copied again.

Rows keep everything they have, their ingest sequence too. A store takes an event once, so a day that
was cut short is copied anew and nothing in it is doubled.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final, Protocol

from hosts.store_copy.spans import split_into_utc_days
from service_core.access.models import Workspace
from service_core.analytics.ports import (
    AggregateReader,
    ConversionSet,
    EventPageQuery,
    EventReader,
    QueryScope,
    TouchPathReader,
)
from service_core.ingestion.ports import EventStore, SupersededEventStore
from service_core.kernel.time_ranges import TimeRange

EVENTS_PER_BATCH: Final = 5_000
"""Events of one append."""

_NO_CONVERSIONS: Final = ConversionSet(frozenset(), any_revenue=False)


class Store(EventStore, SupersededEventStore, EventReader, AggregateReader, TouchPathReader, Protocol):
    """Methods of an event store that a copy uses."""


async def copy_incomplete_days_of_workspace(
    workspace: Workspace, source: Store, target: Store, on_copied: Callable[[int], None] = lambda _: None
) -> None:
    """Copies every event of a workspace.

    Args:
        workspace: whose events.
        source: is read only.
        target: may hold a part of them.
        on_copied: hears how many more events are there, those of earlier runs included.
    """
    for span in await days_from_first_to_last_event(workspace, source):
        scan = build_scope_of_all_events(workspace, span)
        wanted = await count_events(source, scan)
        if wanted != await count_events(target, scan):
            await _copy_events_in_batches(scan, source, target)
        on_copied(wanted)
    await target.maintain()


async def copy_superseded_events(workspace: Workspace, source: Store, target: Store) -> None:
    """Copies the superseded events of a workspace; those that are there are not doubled."""
    async for piece in source.stream_superseded_events(workspace.id):
        await target.store_superseded_events(piece)


async def count_superseded_events(workspace: Workspace, store: Store) -> int:
    """Returns the number of superseded events of a workspace."""
    return sum([len(piece) async for piece in store.stream_superseded_events(workspace.id)])


async def days_from_first_to_last_event(workspace: Workspace, source: Store) -> Iterator[TimeRange]:
    """Yields the days from the first to the last event of the source."""
    bounds = await source.first_and_last_event_time(workspace.id)
    return split_into_utc_days(*bounds) if bounds else iter(())


def build_scope_of_all_events(workspace: Workspace, span: TimeRange) -> QueryScope:
    """Returns a scan of every event of a workspace in a span, bots included."""
    return QueryScope(
        workspace.id, span, workspace.currency, workspace.timezone, _NO_CONVERSIONS, include_bots=True
    )


async def count_events(store: Store, scan: QueryScope) -> int:
    """Returns the number of events of a scan."""
    return (await store.list_events(EventPageQuery(scan, limit=1))).total or 0


async def _copy_events_in_batches(scan: QueryScope, source: Store, target: Store) -> None:
    after: tuple[datetime, int] | None = None
    while True:
        page = await source.list_events(
            EventPageQuery(scan, EVENTS_PER_BATCH, count_total=False, after=after)
        )
        if page.events:
            await target.append(page.events)
            after = page.events[-1].timestamp, page.events[-1].seq
        if not page.has_more:
            return
