"""Parsing and formatting of dates and timestamps in requests and answers.

The end of a range is inclusive and covers the precision sent: ``2026-07-01`` covers the whole local day,
``…T10:00Z`` the whole minute, ``…:59.000Z`` one millisecond. A finer fraction is truncated to milliseconds.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final
from zoneinfo import ZoneInfo

from service_core.kernel.time_ranges import TimeRange
from service_core.kernel.wall_clock import day_start, wall_time_to_first_utc_instant

_TIMESTAMP_PATTERN: Final = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[Tt](?P<hour>\d{2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?P<offset>[Zz]|[+\- ]\d{2}(?::?\d{2})?)?)?",
    re.ASCII,
)
_ALLOWED_YEARS: Final = range(1900, 2200)
"""Years a range may contain: wider than any event, and far from the limits of `datetime`."""


def truncate_to_milliseconds(instant: datetime) -> datetime:
    """Returns an instant with the precision of answers."""
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


def parse_span_of_date_or_timestamp(text: str, zone: ZoneInfo) -> TimeRange | None:
    """Returns the time range that a date or timestamp covers.

    Its start is used as the start of a date range, its end as an inclusive end. A date means a local day. A timestamp
    without an offset is local time. A space before an offset is read as ``+``, because query strings decode ``+`` so.

    Returns:
        None if the text is not an ISO 8601 date or timestamp of the years 1900 to 2199.
    """
    match = _TIMESTAMP_PATTERN.fullmatch(text.strip())
    if match is None:
        return None
    try:
        day = date.fromisoformat(match["date"])
        if day.year not in _ALLOWED_YEARS:
            return None
        if match["hour"] is None:
            return TimeRange(day_start(day, zone), day_start(day + timedelta(days=1), zone))
        return _span_of_timestamp(match, day, zone)
    except ValueError:
        return None


def _span_of_timestamp(timestamp_match: re.Match[str], day: date, zone: ZoneInfo) -> TimeRange:
    fraction = (timestamp_match["fraction"] or "")[:3].ljust(6, "0")
    clock = time(
        int(timestamp_match["hour"]),
        int(timestamp_match["minute"] or 0),
        int(timestamp_match["second"] or 0),
        int(fraction),
    )
    local = datetime.combine(day, clock)
    offset = timestamp_match["offset"]
    start = (
        wall_time_to_first_utc_instant(local, zone)
        if offset is None
        else (local - _parse_utc_offset(offset)).replace(tzinfo=UTC)
    )
    return TimeRange(start, start + _length_of_finest_sent_unit(timestamp_match))


def _parse_utc_offset(text: str) -> timedelta:
    if text in "Zz":
        return timedelta(0)
    digits = text[1:].replace(":", "").ljust(4, "0")
    size = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-size if text[0] == "-" else size).utcoffset(None)


def _length_of_finest_sent_unit(timestamp_match: re.Match[str]) -> timedelta:
    if timestamp_match["fraction"]:
        return timedelta(milliseconds=10 ** max(3 - len(timestamp_match["fraction"]), 0))
    if timestamp_match["second"]:
        return timedelta(seconds=1)
    return timedelta(minutes=1) if timestamp_match["minute"] else timedelta(hours=1)


def format_timestamp(instant: datetime) -> str:
    """Returns a timestamp as answers show it: ``2026-07-01T05:00:00.000Z``."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
