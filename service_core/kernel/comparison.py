"""The range another one is compared with (semantics 18.3)."""

from datetime import date, datetime, timedelta
from enum import StrEnum

from service_core.kernel.ranges import Range, Span, whole_days
from service_core.kernel.wall_clock import local_date, to_utc

_FEBRUARY_28 = 28
_MILLISECOND = timedelta(milliseconds=1)


class Comparison(StrEnum):
    """Ways to find the range to compare with."""

    PREVIOUS_PERIOD = "previous_period"
    PREVIOUS_YEAR = "previous_year"
    MATCH_WEEKDAY = "match_weekday"


def compared(asked: Range, how: Comparison) -> Range:
    """The compared range, over the same wall clock.

    When the range ends today and today is not over, it ends at the same local clock time of its last
    day, so like is compared with like.
    """
    back = _shift(asked, how)
    by_seconds = how is Comparison.PREVIOUS_PERIOD and not asked.is_calendar
    if asked.is_calendar:
        span = whole_days(_day(asked.first_day, back), _day(asked.last_day, back), asked.zone)
    elif by_seconds:
        length = asked.span.end - asked.span.start
        span = Span(asked.span.start - length, asked.span.start)
    else:
        span = Span(_clock(asked.span.start, asked, back), _clock(asked.span.end, asked, back))
    return Range(_until_the_same_time(span, asked, back, by_seconds=by_seconds), asked.zone, asked.now)


def _shift(asked: Range, how: Comparison) -> timedelta | None:
    """How far back, in whole local days; None stands for one calendar year."""
    days = (asked.last_day - asked.first_day).days + 1
    if how is Comparison.PREVIOUS_YEAR:
        return None
    if how is Comparison.PREVIOUS_PERIOD:
        return timedelta(days=days)
    length = timedelta(days=days) if asked.is_calendar else asked.span.end - asked.span.start
    return timedelta(weeks=-(-length // timedelta(weeks=1)))


def _day(day: date, back: timedelta | None) -> date:
    if back is not None:
        return day - back
    leap_day = (day.month, day.day) == (2, 29)
    return date(day.year - 1, day.month, _FEBRUARY_28 if leap_day else day.day)


def _clock(instant: datetime, asked: Range, back: timedelta | None) -> datetime:
    local = instant.astimezone(asked.zone).replace(tzinfo=None)
    return to_utc(datetime.combine(_day(local.date(), back), local.time()), asked.zone)


def _until_the_same_time(span: Span, asked: Range, back: timedelta | None, *, by_seconds: bool) -> Span:
    if not asked.partial or asked.last_day != local_date(asked.now, asked.zone):
        return span
    elapsed = asked.now - asked.span.start
    cut = span.start + elapsed if by_seconds else _clock(asked.now, asked, back)
    cut = cut.replace(microsecond=cut.microsecond // 1000 * 1000) + _MILLISECOND
    return Span(span.start, max(span.start, min(span.end, cut)))
