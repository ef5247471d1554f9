"""Computes the range that a date range is compared with."""

from datetime import date, datetime, timedelta
from enum import StrEnum

from service_core.kernel.time_ranges import ResolvedRange, TimeRange, whole_days_range
from service_core.kernel.timestamps import truncate_to_milliseconds
from service_core.kernel.wall_clock import local_date, wall_time_to_first_utc_instant

_FEBRUARY_28 = 28
_MILLISECOND = timedelta(milliseconds=1)


class ComparisonMode(StrEnum):
    """How the comparison range is chosen."""

    PREVIOUS_PERIOD = "previous_period"
    PREVIOUS_YEAR = "previous_year"
    MATCH_WEEKDAY = "match_weekday"


def comparison_range_cut_at_elapsed_time(date_range: ResolvedRange, mode: ComparisonMode) -> ResolvedRange:
    """Returns the range to compare a date range with, in the same time zone.

    When the date range ends today, the comparison range ends at the same local time of its last day, so that an
    incomplete day is compared with an equally incomplete day.
    """
    back = _day_offset_or_none_for_calendar_year(date_range, mode)
    by_seconds = mode is ComparisonMode.PREVIOUS_PERIOD and not date_range.is_whole_days
    if date_range.is_whole_days:
        span = whole_days_range(
            _shift_day_back(date_range.first_day, back),
            _shift_day_back(date_range.last_day, back),
            date_range.zone,
        )
    elif by_seconds:
        length = date_range.span.end - date_range.span.start
        span = TimeRange(date_range.span.start - length, date_range.span.start)
    else:
        span = TimeRange(
            _shift_instant_back(date_range.span.start, date_range, back),
            _shift_instant_back(date_range.span.end, date_range, back),
        )
    return ResolvedRange(
        _truncate_if_range_ends_today(span, date_range, back, by_seconds=by_seconds),
        date_range.zone,
        date_range.now,
    )


def _day_offset_or_none_for_calendar_year(
    date_range: ResolvedRange, mode: ComparisonMode
) -> timedelta | None:
    """Returns how far the comparison range lies back, in whole local days; None means one calendar year."""
    days = (date_range.last_day - date_range.first_day).days + 1
    if mode is ComparisonMode.PREVIOUS_YEAR:
        return None
    if mode is ComparisonMode.PREVIOUS_PERIOD:
        return timedelta(days=days)
    length = timedelta(days=days) if date_range.is_whole_days else date_range.span.end - date_range.span.start
    return timedelta(weeks=-(-length // timedelta(weeks=1)))


def _shift_day_back(day: date, offset_or_year: timedelta | None) -> date:
    if offset_or_year is not None:
        return day - offset_or_year
    leap_day = (day.month, day.day) == (2, 29)
    return date(day.year - 1, day.month, _FEBRUARY_28 if leap_day else day.day)


def _shift_instant_back(
    instant: datetime, date_range: ResolvedRange, offset_or_year: timedelta | None
) -> datetime:
    local = instant.astimezone(date_range.zone).replace(tzinfo=None)
    return wall_time_to_first_utc_instant(
        datetime.combine(_shift_day_back(local.date(), offset_or_year), local.time()), date_range.zone
    )


def _truncate_if_range_ends_today(
    time_range: TimeRange, date_range: ResolvedRange, offset_or_year: timedelta | None, *, by_seconds: bool
) -> TimeRange:
    if not date_range.extends_past_now or date_range.last_day != local_date(date_range.now, date_range.zone):
        return time_range
    elapsed = date_range.now - date_range.span.start
    cut = (
        time_range.start + elapsed
        if by_seconds
        else _shift_instant_back(date_range.now, date_range, offset_or_year)
    )
    cut = truncate_to_milliseconds(cut) + _MILLISECOND
    return TimeRange(time_range.start, max(time_range.start, min(time_range.end, cut)))
