"""Copying the events of a workspace, day by day; a day that is there already is not copied again.

Rows keep everything they have, their ingest sequence too. A store takes an event once, so a day that
was cut short is copied anew and nothing in it is doubled.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final, Protocol

from hosts.moving.months import days
from service_core.access.model import Workspace
from service_core.insight.ports import Aggregates, ConversionSet, EventLog, EventPage, Paths, Scan
from service_core.intake.ports import EventStore
from service_core.kernel.ranges import Span

AT_ONCE: Final = 5_000
"""Events of one append."""

_NOTHING_CONVERTS: Final = ConversionSet(frozenset(), any_revenue=False)


class Store(EventStore, EventLog, Aggregates, Paths, Protocol):
    """What is asked of either side."""


async def copy(
    workspace: Workspace, source: Store, target: Store, told: Callable[[int], None] = lambda _: None
) -> None:
    """Bring every event of a workspace over.

    Args:
        workspace: whose events.
        source: is read only.
        target: may hold a part of them.
        told: hears how many more events are there, those of earlier runs included.
    """
    for span in await spans(workspace, source):
        scan = scan_of(workspace, span)
        wanted = await count(source, scan)
        if wanted != await count(target, scan):
            await _copy_day(scan, source, target)
        told(wanted)
    await target.maintain()


async def spans(workspace: Workspace, source: Store) -> Iterator[Span]:
    """The days the source has events in, from the first to the last."""
    bounds = await source.bounds(workspace.id)
    return days(*bounds) if bounds else iter(())


def scan_of(workspace: Workspace, span: Span) -> Scan:
    """Every event of a workspace in a span, those of bots too."""
    return Scan(
        workspace.id, span, workspace.currency, workspace.timezone, _NOTHING_CONVERTS, include_bots=True
    )


async def count(store: Store, scan: Scan) -> int:
    """How many events a scan sees."""
    return (await store.page(EventPage(scan, limit=1))).total or 0


async def _copy_day(scan: Scan, source: Store, target: Store) -> None:
    after: tuple[datetime, int] | None = None
    while True:
        page = await source.page(EventPage(scan, AT_ONCE, total=False, after=after))
        if page.events:
            await target.append(page.events)
            after = page.events[-1].timestamp, page.events[-1].seq
        if not page.has_more:
            return
