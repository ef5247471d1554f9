"""The days a trailing measure looks back over (semantics 6.6)."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from service_core.kernel.ranges import Span, whole_days
from service_core.kernel.wall_clock import local_date


def trailing(span: Span, days: int, zone: str) -> Span:
    """The whole local days, ``days`` of them, that end with the last local day of a span or bucket."""
    wall = ZoneInfo(zone)
    last = local_date(span.end - timedelta.resolution, wall)
    return whole_days(last - timedelta(days=days - 1), last, wall)
