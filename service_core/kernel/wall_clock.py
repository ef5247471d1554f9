"""Conversions between wall-clock time in a time zone and UTC: starts of local days and hours.

The zone database is only asked for offsets. A local day may have 23, 23.5, 24.5 or 25 hours, may have no midnight,
and may not exist at all. A local hour may be skipped, repeated or shortened by a half-hour change.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_SECOND = timedelta(seconds=1)
_ZERO = timedelta(0)


def wall_time_to_first_utc_instant(naive_local_time: datetime, zone: ZoneInfo) -> datetime:
    """Returns the UTC instant of a naive wall-clock time.

    A repeated wall-clock time gives the first instant, a skipped one the instant of the clock change.
    """
    aware = naive_local_time.replace(tzinfo=zone, fold=0)
    before, after = aware.utcoffset() or _ZERO, aware.replace(fold=1).utcoffset() or _ZERO
    instant = (naive_local_time - before).replace(tzinfo=UTC)
    if before >= after:
        return instant
    return _bisect_first_second_of_new_offset(
        (naive_local_time - after).replace(tzinfo=UTC) - _SECOND, instant, zone
    )


def day_start(day: date, zone: ZoneInfo) -> datetime:
    """Returns the first instant of a local day; of the next day when the zone skipped the day."""
    return wall_time_to_first_utc_instant(datetime.combine(day, time.min), zone)


def local_date(instant: datetime, zone: ZoneInfo) -> date:
    """Returns the local date of an instant."""
    return instant.astimezone(zone).date()


def local_hour_start(instant: datetime, zone: ZoneInfo) -> datetime:
    """Returns the start of the local hour that contains an instant, or the clock change that shortened it."""
    local = instant.astimezone(zone)
    past = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    start = instant - past
    if start.astimezone(zone).utcoffset() == local.utcoffset():
        return start
    return _bisect_first_second_of_new_offset(start, instant, zone)


def next_local_hour_start(start: datetime, zone: ZoneInfo) -> datetime:
    """Returns the start of the local hour after the one that begins at ``start``."""
    local = start.astimezone(zone)
    end = start + timedelta(hours=1) - timedelta(minutes=local.minute, seconds=local.second)
    if (end - _SECOND).astimezone(zone).utcoffset() == local.utcoffset():
        return end
    return _bisect_first_second_of_new_offset(start, end - _SECOND, zone)


def _bisect_first_second_of_new_offset(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """Returns the first whole second between two instants that has the later UTC offset."""
    offset = before.astimezone(zone).utcoffset()
    low, high = int(before.timestamp()), int(after.timestamp())
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, UTC).astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return datetime.fromtimestamp(high, UTC)
