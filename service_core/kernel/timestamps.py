"""Dates and instants as they are sent and shown (contract 2.7, semantics 1.2).

An end is inclusive and covers the precision sent: ``2026-07-01`` the whole local day,
``…T10:00Z`` the whole minute, ``…:59.000Z`` one millisecond. Answers show milliseconds, so a
finer fraction is read as the millisecond it lies in.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo

from service_core.kernel.time_ranges import TimeRange
from service_core.kernel.wall_clock import day_start, wall_time_to_utc

_TIMESTAMP_PATTERN: Final = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[Tt](?P<hour>\d{2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?P<offset>[Zz]|[+\- ]\d{2}(?::?\d{2})?)?)?",
    re.ASCII,
)
_ALLOWED_YEARS: Final = range(1900, 2200)
"""Years a range may name: wide of every event, and far from the ends of the calendar."""


def parse_date_or_timestamp(text: str, zone: ZoneInfo) -> TimeRange | None:
    """The instants a date or an instant covers: its start as a start, its end as an inclusive end.

    A date is a local day; an instant without an offset is local, too. A space in the place of the
    ``+`` of an offset is read as ``+``, as a query string makes one of it.

    Returns:
        None when the text is no ISO 8601 date or instant of the years 1900 to 2199.
    """
    found = _TIMESTAMP_PATTERN.fullmatch(text.strip())
    if found is None:
        return None
    try:
        day = date.fromisoformat(found["date"])
        if day.year not in _ALLOWED_YEARS:
            return None
        if found["hour"] is None:
            return TimeRange(day_start(day, zone), day_start(day + timedelta(days=1), zone))
        return _parse_timestamp(found, day, zone)
    except ValueError:
        return None


def _parse_timestamp(found: re.Match[str], day: date, zone: ZoneInfo) -> TimeRange:
    fraction = (found["fraction"] or "")[:3].ljust(6, "0")
    clock = time(int(found["hour"]), int(found["minute"] or 0), int(found["second"] or 0), int(fraction))
    local = datetime.combine(day, clock)
    offset = found["offset"]
    start = (
        wall_time_to_utc(local, zone)
        if offset is None
        else (local - _parse_utc_offset(offset)).replace(tzinfo=UTC)
    )
    return TimeRange(start, start + _timestamp_precision(found))


def _parse_utc_offset(text: str) -> timedelta:
    if text in "Zz":
        return timedelta(0)
    digits = text[1:].replace(":", "").ljust(4, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-size if text[0] == "-" else size).utcoffset(None)


def _timestamp_precision(found: re.Match[str]) -> timedelta:
    if found["fraction"]:
        return timedelta(milliseconds=10 ** max(3 - len(found["fraction"]), 0))
    if found["second"]:
        return timedelta(seconds=1)
    return timedelta(minutes=1) if found["minute"] else timedelta(hours=1)


def format_timestamp(instant: datetime) -> str:
    """An instant as answers show it: ``2026-07-01T05:00:00.000Z``."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
