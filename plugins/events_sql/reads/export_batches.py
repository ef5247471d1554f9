"""Reads export rows in bounded slices of one transaction, so memory is bounded and the snapshot consistent.

Sorting all rows would hold them all in memory. A slice is a time range of some ten thousand events; sorted
slices, newest first, give the sorted whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.reads.event_queries import NEWEST_FIRST, source_and_conditions_of_scope
from plugins.events_sql.reads.people.people_list import (
    create_matching_persons_table,
    read_page_of_matching_persons,
)
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from service_core.plugin import WIRE_COLUMNS, PeoplePageQuery, Person, QueryScope, RowBatch, TimeRange

EVENTS_PER_BATCH: Final = 25_000
"""Events of a slice: a few hundredths of a second, some tens of megabytes."""

PERSONS_PER_BATCH: Final = 10_000
"""Persons of a slice."""

_WIRE_COLUMNS: Final = [EVENTS.c[name] for name in WIRE_COLUMNS]
_SLICE_UNITS: Final = (timedelta(hours=1), timedelta(seconds=1))
"""The lengths that slices are multiples of; an hour with too many events is cut by the second."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def stream_newest_events(scope: QueryScope, max_events: int, runner: StatementRunner) -> Iterator[RowBatch]:
    """Yields the newest events of a scope in frames, newest first."""
    runner.begin_snapshot()
    left = max_events
    for slice_span in _time_slices_newest_first(scope, runner, EVENTS_PER_BATCH):
        source, where = source_and_conditions_of_scope(replace(scope, span=slice_span))
        rows = sa.select(*_WIRE_COLUMNS).select_from(source).where(*where).order_by(*NEWEST_FIRST).limit(left)
        frame = runner.fetch_frame(rows)
        left -= len(frame)
        yield frame
        if not left:
            return


def stream_persons_of_page(plan: PeoplePageQuery, runner: StatementRunner) -> Iterator[Sequence[Person]]:
    """Yields the persons of a page of any length in lists."""
    runner.begin_snapshot()
    create_matching_persons_table(plan, runner)
    for done in range(0, plan.limit, PERSONS_PER_BATCH):
        size = min(PERSONS_PER_BATCH, plan.limit - done)
        batch = read_page_of_matching_persons(replace(plan, offset=plan.offset + done, limit=size), runner)
        yield batch
        if len(batch) < size:
            return


def _time_slices_newest_first(
    scope: QueryScope,
    runner: StatementRunner,
    target_event_count: int,
    slice_units: Sequence[timedelta] = _SLICE_UNITS,
) -> Iterator[TimeRange]:
    """Yields spans that cover the scope's span, newest first, with about ``size`` events each."""
    grain, *finer = slice_units
    end, event_count = scope.span.end, 0
    for start, count in _event_count_per_time_unit(scope, runner, grain):
        if event_count + count > target_event_count and event_count:
            yield TimeRange(start + grain, end)
            end, event_count = start + grain, 0
        if count > 2 * target_event_count and finer:
            slice_span = TimeRange(max(start, scope.span.start), min(end, scope.span.end))
            yield from _time_slices_newest_first(
                replace(scope, span=slice_span), runner, target_event_count, finer
            )
            end, event_count = start, 0
        else:
            event_count += count
    if event_count:
        yield TimeRange(scope.span.start, end)


def _event_count_per_time_unit(
    scope: QueryScope, runner: StatementRunner, time_unit: timedelta
) -> list[tuple[datetime, int]]:
    """Returns the time units that have events, newest first, with their number of events."""
    source, where = source_and_conditions_of_scope(scope)
    width = sa.literal(int(time_unit / timedelta(microseconds=1)))
    unit_index: Any = fn.IntegerDivide(fn.EpochMicroseconds(EVENTS.c.timestamp), width).label("place")
    counted = sa.select(unit_index, sa.func.count()).select_from(source).where(*where).group_by(unit_index)
    return [
        (_EPOCH + number * time_unit, count)
        for number, count in runner.fetch_rows(counted.order_by(unit_index.desc()))
    ]
