"""The days a trailing measure looks back over (semantics 6.6)."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from service_core.kernel.time_ranges import TimeRange, whole_days_range
from service_core.kernel.wall_clock import local_date


def compute_trailing_span(span: TimeRange, days: int, zone: str) -> TimeRange:
    """The whole local days, ``days`` of them, that end with the last local day of a span or bucket."""
    wall = ZoneInfo(zone)
    last = local_date(span.end - timedelta.resolution, wall)
    return whole_days_range(last - timedelta(days=days - 1), last, wall)
