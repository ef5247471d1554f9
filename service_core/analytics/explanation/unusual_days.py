"""Finds unusual days by comparing each with the same weekday of the weeks before. Alerts use the same rule.

The rule: the expected value of a day is the median of the same weekday in the 8 weeks before. Its usual deviation is the
median distance of these days from that median, times 1.4826, but at least the square root of the median (and 1) for a count
and a twentieth of the median for anything else. A day is unusual when it lies more than 3 usual deviations away. A day with
fewer than 4 earlier weeks is not judged.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import sqrt
from statistics import median
from typing import Final

WEEKS_COMPARED: Final = 8
MIN_WEEKS: Final = 4
DEVIATIONS: Final = 3
_MAD_TO_STANDARD_DEVIATION: Final = 1.4826
_MIN_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class ExpectedRange:
    """The lowest and the highest value that is not unusual."""

    low: float
    high: float

    def contains(self, value: float) -> bool:
        """Whether a value is not unusual."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class UnusualDay:
    """A day whose value lies outside of the expected range."""

    day: date
    value: float
    expected: ExpectedRange


def find_days_outside_expected_range(
    value_by_day: Mapping[date, float | None], days: Iterable[date], *, is_count: bool
) -> list[UnusualDay]:
    """Returns the days that are unusual, in their order. A day without a value is not judged.

    Args:
        value_by_day: values of the days and of the weeks before them.
        days: the days to judge.
        is_count: whether values count something, so that small ones vary by chance.
    """
    unusual = []
    for day in days:
        value = value_by_day.get(day)
        expected = expected_range_from_past_weekdays(value_by_day, day, is_count=is_count)
        if value is not None and expected is not None and not expected.contains(value):
            unusual.append(UnusualDay(day, value, expected))
    return unusual


def expected_range_from_past_weekdays(
    value_by_day: Mapping[date, float | None], day: date, *, is_count: bool
) -> ExpectedRange | None:
    """Returns the range expected of a day by the same weekdays before it; None with fewer than 4 of them."""
    before = (value_by_day.get(day - timedelta(weeks=weeks)) for weeks in range(1, WEEKS_COMPARED + 1))
    return expected_range_around_median([value for value in before if value is not None], is_count=is_count)


def expected_range_around_median(earlier: Sequence[float], *, is_count: bool) -> ExpectedRange | None:
    """Returns the range expected by earlier values; None with fewer than 4 of them.

    Args:
        earlier: known values of the compared days or weeks, in any order.
        is_count: as in `find_days_outside_expected_range`.
    """
    if len(earlier) < MIN_WEEKS:
        return None
    middle = median(earlier)
    typical = _MAD_TO_STANDARD_DEVIATION * median([abs(value - middle) for value in earlier])
    least = max(1.0, sqrt(abs(middle))) if is_count else _MIN_SHARE * abs(middle)
    tolerance = DEVIATIONS * max(typical, least)
    low = middle - tolerance
    return ExpectedRange(max(0.0, low) if middle >= 0 else low, middle + tolerance)
