"""When scheduled e-mails are due."""

from datetime import UTC, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from service_core.workspace.email_reports.models import EmailReport
from service_core.workspace.email_reports.schedule import last_due_at, next_due_at

BERLIN = ZoneInfo("Europe/Berlin")
ID = UUID("01a00000-0000-7000-8000-000000000000")


def email_report(**fields):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    given = {"frequency": "weekly", "weekday": "monday", "day_of_month": None, "hour": 8} | fields
    return EmailReport.model_construct(id=ID, created_at=start, updated_at=start, **given)


@pytest.mark.parametrize(
    ("fields", "now", "last", "following"),
    [
        ({}, "2026-03-09T07:00", "2026-03-09T07:00", "2026-03-16T07:00"),
        ({}, "2026-03-09T06:59", "2026-03-02T07:00", "2026-03-09T07:00"),
        ({}, "2026-03-29T12:00", "2026-03-23T07:00", "2026-03-30T06:00"),
        ({"weekday": "sunday", "hour": 2}, "2026-03-29T12:00", "2026-03-29T01:00", "2026-04-05T00:00"),
        ({"weekday": "sunday", "hour": 2}, "2026-10-25T12:00", "2026-10-25T00:00", "2026-11-01T01:00"),
        ({"frequency": "monthly", "day_of_month": 1}, "2026-02-28T12:00", "2026-02-01T07:00", "2026-03-01T07:00"),
        ({"frequency": "monthly", "day_of_month": 28}, "2026-03-01T00:00", "2026-02-28T07:00", "2026-03-28T07:00"),
        ({"frequency": "monthly", "day_of_month": 1, "hour": 0}, "2026-06-30T22:00", "2026-06-30T22:00", "2026-07-31T22:00"),
    ],
)  # fmt: skip
def test_due_times_follow_the_wall_clock_of_the_workspace(fields, now, last, following):
    present = datetime.fromisoformat(now).replace(tzinfo=UTC)
    scheduled = email_report(**fields)
    assert f"{last_due_at(scheduled, present, BERLIN):%Y-%m-%dT%H:%M}" == last
    assert f"{next_due_at(scheduled, present, BERLIN):%Y-%m-%dT%H:%M}" == following
