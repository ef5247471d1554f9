"""Named ranges, by the wall clock of the workspace (contract 2.7)."""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Final

_DAY: Final = timedelta(days=1)
Days = tuple[date, date]
"""First and last local day, both whole."""


def _last_days(count: int) -> Callable[[date], Days]:
    return lambda today: (today - timedelta(days=count - 1), today)


def _month(day: date, back: int = 0) -> date:
    month = day.year * 12 + day.month - 1 - back
    return date(month // 12, month % 12 + 1, 1)


def _quarter(day: date, back: int = 0) -> date:
    return _month(day, (day.month - 1) % 3 + 3 * back)


def _week(day: date, back: int = 0) -> date:
    return day - timedelta(days=day.weekday() + 7 * back)


def _year(day: date, back: int = 0) -> date:
    return date(day.year - back, 1, 1)


def _this(start: Callable[..., date]) -> Callable[[date], Days]:
    return lambda today: (start(today), today)


def _last(start: Callable[..., date]) -> Callable[[date], Days]:
    return lambda today: (start(today, 1), start(today) - _DAY)


_LONG: Final[Mapping[str, Callable[[date], Days]]] = {
    "today": lambda today: (today, today),
    "yesterday": lambda today: (today - _DAY, today - _DAY),
    **{f"last_{n}_days": _last_days(n) for n in (7, 14, 28, 30, 90)},
    "last_12_months": lambda today: (_month(today, 11), today),
    "this_week": _this(_week),
    "last_week": _last(_week),
    "this_month": _this(_month),
    "last_month": _last(_month),
    "this_quarter": _this(_quarter),
    "last_quarter": _last(_quarter),
    "this_year": _this(_year),
    "last_year": _last(_year),
}
PRESETS: Final[Mapping[str, Callable[[date], Days]]] = {
    **_LONG,
    **{f"{n}d": _last_days(n) for n in (7, 14, 28, 30, 90, 91)},
    "12mo": _LONG["last_12_months"],
    "mtd": _LONG["this_month"],
    "qtd": _LONG["this_quarter"],
    "ytd": _LONG["this_year"],
}
"""Name -> the days it means, given the local date of today."""

ALL_TIME: Final = "all_time"
"""From the local day of the first event to the end of today; it needs to be told that day."""

NAMES: Final = (*_LONG, ALL_TIME)
"""The long forms, as a request is told them."""


def preset_days(name: str, today: date, first_day: date | None = None) -> Days | None:
    """The days of a preset; None for an unknown name.

    Args:
        name: long or short form.
        today: the local date.
        first_day: local day of the first event, for ``all_time``; without events it is today.
    """
    if name == ALL_TIME:
        return (min(first_day or today, today), today)
    rule = PRESETS.get(name)
    return rule(today) if rule else None
