"""Time window of measures over the last days, such as active users."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from service_core.kernel.time_ranges import TimeRange, whole_days_range
from service_core.kernel.wall_clock import local_date


def compute_trailing_span(span: TimeRange, days: int, zone: str) -> TimeRange:
    """Returns the span of whole local days, ``days`` of them, that ends with the last local day of a span or bucket."""
    timezone = ZoneInfo(zone)
    last = local_date(span.end - timedelta.resolution, timezone)
    return whole_days_range(last - timedelta(days=days - 1), last, timezone)
