"""Timestamps of answers as dates of the workspace's zone."""

from datetime import datetime
from zoneinfo import ZoneInfo


def format_local_date(timestamp: str | datetime, zone: ZoneInfo) -> str:
    """Returns ``1 July 2026``, the local date of a timestamp."""
    instant = datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else timestamp
    local = instant.astimezone(zone)
    return f"{local.day} {local:%B %Y}"
