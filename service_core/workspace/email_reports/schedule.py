"""When e-mails are due, by the wall clock of the workspace."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from service_core.kernel.wall_clock import local_date, wall_time_to_first_utc_instant
from service_core.workspace.email_reports.models import WEEKDAYS, EmailReport

_DAY: Final = timedelta(days=1)
_LONGEST_GAP_DAYS: Final = 32


def last_due_at(email_report: EmailReport, now: datetime, zone: ZoneInfo) -> datetime:
    """Returns the latest instant, not after now, at which an e-mail was due."""
    today = local_date(now, zone)
    days = (today - _DAY * back for back in range(-1, _LONGEST_GAP_DAYS + 1))
    return next(instant for instant in _due_instants(email_report, days, zone) if instant <= now)


def next_due_at(email_report: EmailReport, now: datetime, zone: ZoneInfo) -> datetime:
    """Returns the first instant after now at which an e-mail is due."""
    today = local_date(now, zone)
    days = (today + _DAY * ahead for ahead in range(-1, _LONGEST_GAP_DAYS + 1))
    return next(instant for instant in _due_instants(email_report, days, zone) if instant > now)


def _due_instants(email_report: EmailReport, days: Iterator[date], zone: ZoneInfo) -> Iterator[datetime]:
    """Yields the instants of the days on which an e-mail is due; a skipped hour is due at the clock change."""
    for day in days:
        if _is_due_on(email_report, day):
            yield wall_time_to_first_utc_instant(datetime.combine(day, time(email_report.hour)), zone)


def _is_due_on(email_report: EmailReport, day: date) -> bool:
    if email_report.frequency == "weekly":
        return WEEKDAYS[day.weekday()] == email_report.weekday
    return day.day == email_report.day_of_month
