"""Splits time into the spans of a copy: UTC days to copy, calendar months of the workspace to compare."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from service_core.kernel.time_ranges import TimeRange
from service_core.kernel.wall_clock import day_start, local_date

DAY = timedelta(days=1)


def split_into_utc_days(first: datetime, last: datetime) -> Iterator[TimeRange]:
    """Yields the UTC days from that of ``first`` to that of ``last``."""
    start = first.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    while start <= last:
        yield TimeRange(start, start + DAY)
        start += DAY


def split_into_local_months(
    first: datetime, last: datetime, zone: ZoneInfo
) -> Iterator[tuple[str, TimeRange]]:
    """Yields the months of a time zone from that of ``first`` to that of ``last``, each as ``2026-07``."""
    starts = [local_date(first, zone).replace(day=1)]
    while starts[-1] <= local_date(last, zone):
        starts.append(_next_month(starts[-1]))
    for start, end in pairwise(starts):
        yield f"{start:%Y-%m}", TimeRange(day_start(start, zone), day_start(end, zone))


def _next_month(month: date) -> date:
    return (month + timedelta(days=32)).replace(day=1)
