"""Rows for files: read slice by slice inside one transaction, so memory is bounded and the state is one.

An order over everything would hold everything. A slice is a stretch of time with some ten thousand
events; sorted slices, the newest first, are the sorted whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.engine import Reader
from plugins.events_sql.log import NEWEST, seen
from plugins.events_sql.people import gather, shown
from plugins.events_sql.tables import EVENTS
from service_core.plugin import WIRE_COLUMNS, Batch, PeoplePage, Person, Scan, Span

SLICE: Final = 25_000
"""Events of a slice: a few hundredths of a second, some tens of megabytes."""

PERSONS: Final = 10_000
"""Persons of a slice."""

_WIRE: Final = [EVENTS.c[name] for name in WIRE_COLUMNS]
_GRAINS: Final = (timedelta(hours=1), timedelta(seconds=1))
"""Lengths slices are made of; a crowded hour is cut by the second."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def events(scan: Scan, limit: int, reader: Reader) -> Iterator[Batch]:
    """The newest events a scan sees, in order."""
    reader.session.hold()
    left = limit
    for piece in _slices(scan, reader, SLICE):
        source, where = seen(replace(scan, span=piece))
        rows = sa.select(*_WIRE).select_from(source).where(*where).order_by(*NEWEST).limit(left)
        found = reader.frame(rows)
        left -= len(found)
        yield found
        if not left:
            return


def persons(plan: PeoplePage, reader: Reader) -> Iterator[Sequence[Person]]:
    """The persons of a page of any length."""
    reader.session.hold()
    gather(plan, reader)
    for done in range(0, plan.limit, PERSONS):
        size = min(PERSONS, plan.limit - done)
        found = shown(replace(plan, offset=plan.offset + done, limit=size), reader)
        yield found
        if len(found) < size:
            return


def _slices(scan: Scan, reader: Reader, size: int, grains: Sequence[timedelta] = _GRAINS) -> Iterator[Span]:
    """Spans that cover the scan's, newest first, with about ``size`` events each."""
    grain, *finer = grains
    end, held = scan.span.end, 0
    for start, count in _counts(scan, reader, grain):
        if held + count > size and held:
            yield Span(start + grain, end)
            end, held = start + grain, 0
        if count > 2 * size and finer:
            inside = Span(max(start, scan.span.start), min(end, scan.span.end))
            yield from _slices(replace(scan, span=inside), reader, size, finer)
            end, held = start, 0
        else:
            held += count
    if held:
        yield Span(scan.span.start, end)


def _counts(scan: Scan, reader: Reader, grain: timedelta) -> list[tuple[datetime, int]]:
    """Starts of the grains that have events, newest first, and how many they have."""
    source, where = seen(scan)
    width = sa.literal(int(grain / timedelta(microseconds=1)))
    place: Any = fn.Quotient(fn.Micros(EVENTS.c.timestamp), width).label("place")
    counted = sa.select(place, sa.func.count()).select_from(source).where(*where).group_by(place)
    return [(_EPOCH + number * grain, count) for number, count in reader.rows(counted.order_by(place.desc()))]
