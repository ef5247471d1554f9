"""Instants on an axis, by the wall clock of the workspace."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

from hosts.web.charts.plot_model import Bucket
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit, TimeRange

_MILLISECOND: Final = timedelta(milliseconds=1)

_BUCKET_SIZES: Final = (
    (timedelta(hours=2), "hour"),
    (timedelta(days=2), "day"),
    (timedelta(days=8), "week"),
    (timedelta(days=32), "month"),
    (timedelta.max, "quarter"),
)


def detect_bucket_size(starts: Sequence[datetime]) -> str:
    """The bucket size of a series, by the distance of its starts: ``hour``, ``day``, ``week``, ``month``, ``quarter``."""
    distance = min((after - before for before, after in pairwise(starts)), default=timedelta(days=1))
    return next(size for most, size in _BUCKET_SIZES if distance <= most)


def build_labelled_bucket(
    start: datetime, zone: ZoneInfo, bucket_interval: str, *, partial: bool = False
) -> Bucket:
    """The bucket that starts at an instant.

    Args:
        start: aware.
        zone: of the workspace.
        bucket_interval: as of `detect_bucket_size`.
        partial: whether it is cut off or not over yet.
    """
    local = start.astimezone(zone)
    label, title = _bucket_label_and_title(local, bucket_interval)
    end = buckets_covering(TimeRange(start, start + _MILLISECOND), BucketUnit(bucket_interval), zone).end
    return Bucket(label, title, partial, local.date().isoformat(), start, end)


def _bucket_label_and_title(local: datetime, bucket_interval: str) -> tuple[str, str]:
    day, month = f"{local.day} {local:%b}", f"{local:%B %Y}"
    if bucket_interval == "hour":
        return f"{local:%H:%M}" if local.hour else day, f"{local:%a} {day}, {local:%H:%M}"
    if bucket_interval == "month":
        return f"{local:%b %Y}", month
    if bucket_interval == "quarter":
        quarter = f"Q{(local.month + 2) // 3} {local.year}"
        return quarter, quarter
    title = f"{local:%a} {local.day} {month}"
    return day, f"Week of {title}" if bucket_interval == "week" else title


def format_inclusive_range(start: datetime, end: datetime, zone: ZoneInfo) -> str:
    """An inclusive range in words: ``1 to 7 July 2026``, with times unless it is made of whole days."""
    first, last = start.astimezone(zone), end.astimezone(zone)
    whole = (first.hour, first.minute) == (0, 0) and (last.hour, last.minute) == (23, 59)
    if not whole:
        return f"{first.day} {first:%B %Y, %H:%M} to {last.day} {last:%B %Y, %H:%M}"
    end_text = f"{last.day} {last:%B %Y}"
    if first.date() == last.date():
        return end_text
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {end_text}"
    return f"{first.day} {first:%B}{f' {first.year}' if first.year != last.year else ''} to {end_text}"
