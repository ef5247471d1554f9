"""The clock of the generated shop."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

ZONE = ZoneInfo("Asia/Kolkata")
NOW = datetime(2026, 7, 8, 12, 10, tzinfo=UTC)


def local(day, hour, minute=0, second=0):
    """An instant of the shop's wall clock."""
    return datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=ZONE).astimezone(UTC)
