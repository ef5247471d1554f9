"""Derives the billing interval from the length of a paid period."""

from datetime import datetime, timedelta
from math import log
from typing import Final

from service_core.commerce.subscriptions.models import Interval

_SHORTEST_WEEKLY: Final = timedelta(days=5)
_BILLING_INTERVALS: Final = (
    (7.0, Interval.WEEK, 1),
    (14.0, Interval.WEEK, 2),
    (30.44, Interval.MONTH, 1),
    (60.88, Interval.MONTH, 2),
    (91.31, Interval.QUARTER, 1),
    (121.75, Interval.MONTH, 4),
    (182.62, Interval.MONTH, 6),
    (365.25, Interval.YEAR, 1),
    (730.5, Interval.YEAR, 2),
)
"""Mean days of the periods stores sell."""


def nearest_billing_interval(starts_at: datetime, ends_at: datetime | None) -> tuple[Interval | None, int]:
    """The interval and how many of it, the nearest of those that are sold; days below 5.

    A month has 28 to 31 days, and a payment that came late shortens its period, so lengths do not
    have to fit. None when the end is not known.
    """
    if ends_at is None or ends_at <= starts_at:
        return None, 1
    length = ends_at - starts_at
    days = length / timedelta(days=1)
    if length < _SHORTEST_WEEKLY:
        return Interval.DAY, max(1, round(days))
    _, interval, count = min(_BILLING_INTERVALS, key=lambda sold: abs(log(sold[0] / days)))
    return interval, count
