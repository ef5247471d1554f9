"""The local date of a bucket, as answers show it."""

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from service_core.kernel.time_ranges import BucketUnit

_UNITS_WITHIN_DAY: Final = (BucketUnit.MINUTE, BucketUnit.HOUR)


def format_local_date_of_bucket(start: datetime, unit: BucketUnit, zone: ZoneInfo) -> str:
    """Returns the local date on which a bucket starts, `2026-07-01`; for hours and minutes with the time, `2026-07-01T15:00`."""
    local = start.astimezone(zone)
    if unit in _UNITS_WITHIN_DAY:
        return local.strftime("%Y-%m-%dT%H:%M")
    return local.date().isoformat()
