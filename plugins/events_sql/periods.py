"""Buckets in SQL: found by dividing microseconds, so no time zone of an engine is ever asked."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import sqlalchemy as sa

from plugins.events_sql import functions as fn
from plugins.events_sql.conditions import Expression
from plugins.events_sql.rows import naive
from service_core.plugin import Buckets, Scan, Span, Stretch, Unit, trailing

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive UTC, as the store keeps it


def micros(at: datetime) -> int:
    """Microseconds since 1970."""
    return (naive(at) - _EPOCH) // timedelta.resolution


def micros_of(length: timedelta) -> int:
    """Microseconds of a duration."""
    return length // timedelta.resolution


def bucket_index(at: Expression, stretches: tuple[Stretch, ...]) -> Expression:
    """Index of the bucket an instant lies in: one division per run of equal buckets."""
    found: list[tuple[Expression, Expression]] = []
    last, before = stretches[-1], 0
    for stretch in stretches[:-1]:
        end = stretch.start + timedelta(seconds=stretch.seconds * stretch.count)
        found.append((at < sa.literal(naive(end)), _index(at, stretch) + sa.literal(before)))
        before += stretch.count
    return sa.case(*found, else_=_index(at, last) + sa.literal(before)) if found else _index(at, last)


def _index(at: Expression, stretch: Stretch) -> Expression:
    """Index of the bucket among those of its run."""
    offset = fn.Micros(at) - fn.Micros(sa.literal(naive(stretch.start)))
    return fn.Quotient(offset, sa.literal(stretch.seconds * 1_000_000))


def parts(span: Span, buckets: Buckets | None) -> Iterator[tuple[int, Span]]:
    """The span, or each bucket of it, cut to the span; with its index."""
    if buckets is None:
        yield 0, span
        return
    ends = (*buckets.starts[1:], buckets.end)
    for index, (start, end) in enumerate(zip(buckets.starts, ends, strict=True)):
        part = Span(max(start, span.start), min(end, span.end))
        if part.start < part.end:
            yield index, part


def trailing_windows(scan: Scan, buckets: Buckets | None, days: int) -> list[tuple[int, Span]]:
    """For each bucket, the local days a trailing measure looks back over."""
    return [(index, trailing(part, days, scan.zone)) for index, part in parts(scan.span, buckets)]


def local_days(scan: Scan, span: Span) -> Buckets:
    """The local days of a span of whole ones."""
    starts = []
    at = span.start
    while at < span.end:
        starts.append(at)
        at = trailing(Span(at, at + timedelta.resolution), 1, scan.zone).end
    return Buckets(Unit.DAY, tuple(starts), span.end)
