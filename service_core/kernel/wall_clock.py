"""The wall clock of a zone: where local days, hours and dates begin on the UTC line (semantics 18.4).

The zone database is asked for offsets only. A day may have 23, 23.5, 24.5 or 25 hours, may have no
midnight, and may not exist at all; an hour may be skipped, repeated or cut by a half-hour change.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_SECOND = timedelta(seconds=1)
_ZERO = timedelta(0)


def wall_time_to_utc(local: datetime, zone: ZoneInfo) -> datetime:
    """The UTC instant of a naive wall-clock time: the first one when it is repeated.

    A skipped wall-clock time becomes the instant at which the clock jumped over it.
    """
    aware = local.replace(tzinfo=zone, fold=0)
    before, after = aware.utcoffset() or _ZERO, aware.replace(fold=1).utcoffset() or _ZERO
    instant = (local - before).replace(tzinfo=UTC)
    if before >= after:
        return instant
    return _find_offset_change((local - after).replace(tzinfo=UTC) - _SECOND, instant, zone)


def day_start(day: date, zone: ZoneInfo) -> datetime:
    """The first instant of a local day; of the next one when the zone skipped the day."""
    return wall_time_to_utc(datetime.combine(day, time.min), zone)


def local_date(instant: datetime, zone: ZoneInfo) -> date:
    """The date the wall clock shows."""
    return instant.astimezone(zone).date()


def hour_start(instant: datetime, zone: ZoneInfo) -> datetime:
    """The start of the wall-clock hour an instant lies in, or the clock change that cut it."""
    local = instant.astimezone(zone)
    past = timedelta(minutes=local.minute, seconds=local.second, microseconds=local.microsecond)
    start = instant - past
    if start.astimezone(zone).utcoffset() == local.utcoffset():
        return start
    return _find_offset_change(start, instant, zone)


def next_hour_start(start: datetime, zone: ZoneInfo) -> datetime:
    """The start of the hour that follows the one starting at ``start``."""
    local = start.astimezone(zone)
    end = start + timedelta(hours=1) - timedelta(minutes=local.minute, seconds=local.second)
    if (end - _SECOND).astimezone(zone).utcoffset() == local.utcoffset():
        return end
    return _find_offset_change(start, end - _SECOND, zone)


def _find_offset_change(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The clock change between two instants: the first whole second with the later offset."""
    offset = before.astimezone(zone).utcoffset()
    low, high = int(before.timestamp()), int(after.timestamp())
    while high - low > 1:
        middle = (low + high) // 2
        if datetime.fromtimestamp(middle, UTC).astimezone(zone).utcoffset() == offset:
            low = middle
        else:
            high = middle
    return datetime.fromtimestamp(high, UTC)
