"""Time buckets in SQL, computed by integer division of microseconds and independent of the engine's time zones."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import sqlalchemy as sa

from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import BucketRun, Buckets, BucketUnit, QueryScope, TimeRange, compute_trailing_span

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive UTC, as the store keeps it


def epoch_microseconds(at: datetime) -> int:
    """Returns the microseconds since 1970."""
    return (to_naive_utc(at) - _EPOCH) // timedelta.resolution


def microseconds(length: timedelta) -> int:
    """Returns the microseconds of a duration."""
    return length // timedelta.resolution


def bucket_index(at: Expression, bucket_runs: tuple[BucketRun, ...]) -> Expression:
    """Returns the index of the bucket that an instant lies in: one division per run of equal buckets."""
    cases: list[tuple[Expression, Expression]] = []
    last, before = bucket_runs[-1], 0
    for stretch in bucket_runs[:-1]:
        end = stretch.start + timedelta(seconds=stretch.seconds * stretch.count)
        cases.append((at < sa.literal(to_naive_utc(end)), _index_in_run(at, stretch) + sa.literal(before)))
        before += stretch.count
    return (
        sa.case(*cases, else_=_index_in_run(at, last) + sa.literal(before))
        if cases
        else _index_in_run(at, last)
    )


def _index_in_run(at: Expression, run: BucketRun) -> Expression:
    """Returns the index of the bucket within its run."""
    offset = fn.EpochMicroseconds(at) - fn.EpochMicroseconds(sa.literal(to_naive_utc(run.start)))
    return fn.IntegerDivide(offset, sa.literal(run.seconds * 1_000_000))


def clipped_bucket_spans(span: TimeRange, buckets: Buckets | None) -> Iterator[tuple[int, TimeRange]]:
    """Yields each bucket cut to the span, with its index; the whole span when there are no buckets."""
    if buckets is None:
        yield 0, span
        return
    ends = (*buckets.starts[1:], buckets.end)
    for index, (start, end) in enumerate(zip(buckets.starts, ends, strict=True)):
        part = TimeRange(max(start, span.start), min(end, span.end))
        if part.start < part.end:
            yield index, part


def trailing_window_per_bucket(
    scope: QueryScope, buckets: Buckets | None, trailing_days: int
) -> list[tuple[int, TimeRange]]:
    """Returns for each bucket the local days that a trailing measure covers."""
    return [
        (index, compute_trailing_span(part, trailing_days, scope.zone))
        for index, part in clipped_bucket_spans(scope.span, buckets)
    ]


def local_day_buckets(scope: QueryScope, span: TimeRange) -> Buckets:
    """Returns the local days of a span that starts and ends at midnight."""
    starts = []
    at = span.start
    while at < span.end:
        starts.append(at)
        at = compute_trailing_span(TimeRange(at, at + timedelta.resolution), 1, scope.zone).end
    return Buckets(BucketUnit.DAY, tuple(starts), span.end)
