"""Timestamps of answers as dates and times of the workspace's zone."""

from datetime import datetime
from zoneinfo import ZoneInfo


def format_local_date(timestamp: str | datetime, zone: ZoneInfo) -> str:
    """Returns ``1 July 2026``, the local date of a timestamp."""
    local = _local_time(timestamp, zone)
    return f"{local.day} {local:%B %Y}"


def format_local_time(timestamp: str | datetime, zone: ZoneInfo) -> str:
    """Returns ``1 July 2026, 08:00``, the local date and time of a timestamp."""
    return f"{format_local_date(timestamp, zone)}, {_local_time(timestamp, zone):%H:%M}"


def _local_time(timestamp: str | datetime, zone: ZoneInfo) -> datetime:
    instant = datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp
    return instant.astimezone(zone)
