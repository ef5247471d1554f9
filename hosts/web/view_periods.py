"""Ranges of local days: in words, and the periods before and after, as the arrows beside a range lead to."""

from datetime import date, timedelta
from typing import Final

_MONTHS_OF_PRESET: Final = {
    "this_month": 1,
    "last_month": 1,
    "this_quarter": 3,
    "last_quarter": 3,
    "this_year": 12,
    "last_year": 12,
}
_WEEK_PRESETS: Final = frozenset({"this_week", "last_week"})
_DAY: Final = timedelta(days=1)


def shift_period(preset: str | None, first_day: date, last_day: date, direction: int) -> tuple[date, date]:
    """First and last day of the period before or after: whole calendar units for calendar ranges, else as many days.

    Args:
        preset: the preset the days belong to, if any.
        first_day: first day of the range.
        last_day: last day of the range, included.
        direction: -1 for the period before, 1 for the one after.
    """
    if preset in _WEEK_PRESETS:
        start = first_day + timedelta(days=7 * direction)
        return start, start + timedelta(days=6)
    months = _MONTHS_OF_PRESET.get(preset or "") or _count_whole_months(first_day, last_day)
    if months:
        start = _add_months(first_day, months * direction)
        return start, _add_months(start, months) - _DAY
    length = last_day - first_day + _DAY
    return first_day + length * direction, last_day + length * direction


def _count_whole_months(first_day: date, last_day: date) -> int:
    """How many whole calendar months the days are; 0 when they are none."""
    following = last_day + _DAY
    if first_day.day != 1 or following.day != 1:
        return 0
    return (following.year - first_day.year) * 12 + following.month - first_day.month


def _add_months(first_of_month: date, months: int) -> date:
    month = first_of_month.year * 12 + first_of_month.month - 1 + months
    return date(month // 12, month % 12 + 1, 1)


def format_days(first_day: date, last_day: date) -> str:
    """First and last day, included, in words: ``1 to 7 Jul 2026``."""
    end = f"{last_day.day} {last_day:%b} {last_day.year}"
    if first_day == last_day:
        return end
    start = f"{first_day.day} {first_day:%b}"
    if first_day.year != last_day.year:
        return f"{start} {first_day.year} to {end}"
    return f"{first_day.day} to {end}" if first_day.month == last_day.month else f"{start} to {end}"
