"""Named date ranges, in the time zone of the workspace."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Final

_DAY: Final = timedelta(days=1)
DayRange = tuple[date, date]
"""First and last local day, both included."""


def _last_days(count: int) -> Callable[[date], DayRange]:
    return lambda today: (today - timedelta(days=count - 1), today)


def _month_start(day: date, months_back: int = 0) -> date:
    month = day.year * 12 + day.month - 1 - months_back
    return date(month // 12, month % 12 + 1, 1)


def _quarter_start(day: date, quarters_back: int = 0) -> date:
    return _month_start(day, (day.month - 1) % 3 + 3 * quarters_back)


def _week_start(day: date, weeks_back: int = 0) -> date:
    return day - timedelta(days=day.weekday() + 7 * weeks_back)


def _year_start(day: date, years_back: int = 0) -> date:
    return date(day.year - years_back, 1, 1)


def _current_period(start: Callable[..., date]) -> Callable[[date], DayRange]:
    return lambda today: (start(today), today)


def _previous_period(start: Callable[..., date]) -> Callable[[date], DayRange]:
    return lambda today: (start(today, 1), start(today) - _DAY)


_PRESETS_BY_LONG_NAME: Final[Mapping[str, Callable[[date], DayRange]]] = {
    "today": lambda today: (today, today),
    "yesterday": lambda today: (today - _DAY, today - _DAY),
    **{f"last_{n}_days": _last_days(n) for n in (7, 14, 28, 30, 90)},
    "last_12_months": lambda today: (_month_start(today, 11), today),
    "this_week": _current_period(_week_start),
    "last_week": _previous_period(_week_start),
    "this_month": _current_period(_month_start),
    "last_month": _previous_period(_month_start),
    "this_quarter": _current_period(_quarter_start),
    "last_quarter": _previous_period(_quarter_start),
    "this_year": _current_period(_year_start),
    "last_year": _previous_period(_year_start),
}
DATE_PRESETS: Final[Mapping[str, Callable[[date], DayRange]]] = {
    **_PRESETS_BY_LONG_NAME,
    **{f"{n}d": _last_days(n) for n in (7, 14, 28, 30, 90, 91)},
    "12mo": _PRESETS_BY_LONG_NAME["last_12_months"],
    "mtd": _PRESETS_BY_LONG_NAME["this_month"],
    "qtd": _PRESETS_BY_LONG_NAME["this_quarter"],
    "ytd": _PRESETS_BY_LONG_NAME["this_year"],
}
"""Preset name to a function that returns its days for today's local date."""

ALL_TIME: Final = "all_time"
"""From the local day of the first event to the end of today. Resolving it needs that day."""

PRESET_NAMES: Final = (*_PRESETS_BY_LONG_NAME, ALL_TIME)
"""Long names of the presets, as documented for requests."""


def resolve_preset(preset_name: str, today: date, first_event_day: date | None = None) -> DayRange | None:
    """Returns the days of a preset, or None for an unknown name.

    Args:
        preset_name: long or short name.
        today: the local date.
        first_event_day: local day of the first event, used by ``all_time``; None without events, which means today.
    """
    if preset_name == ALL_TIME:
        return (min(first_event_day or today, today), today)
    rule = DATE_PRESETS.get(preset_name)
    return rule(today) if rule else None
