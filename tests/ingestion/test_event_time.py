"""Semantics 3, golden lines included."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.ingestion.event_time import replace_or_clamp_event_time

RECEIVED = datetime(2026, 7, 1, 12, tzinfo=UTC)
TEN = datetime(2026, 7, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sent", "timestamp", "adjusted"),
    [
        (1782900000, TEN, "none"),
        (1782900000000, TEN, "none"),
        ("1782900000", TEN, "none"),
        ("1782900000000", TEN, "none"),
        (1782900000.5, TEN + timedelta(milliseconds=500), "none"),
        ("2026-07-01T10:00:00", TEN, "none"),
        ("2026-07-01 10:00:00Z", TEN, "none"),
        ("2026-07-01T12:00:00+02:00", TEN, "none"),
        ("2026-07-01T10:00:00.123456789Z", TEN + timedelta(microseconds=123456), "none"),
        ("2019-12-31T23:59:59Z", RECEIVED, "replaced"),
        ("2020-01-01T00:00:00Z", datetime(2020, 1, 1, tzinfo=UTC), "none"),
        ("2027-01-01", RECEIVED, "clamped"),
        ("2026-07-01T12:00:00Z", RECEIVED, "none"),
        ("2026-07-01T12:00:00.000001Z", RECEIVED, "clamped"),
        ("2026-07-01T12:59:59Z", RECEIVED, "clamped"),
        ("yesterday", RECEIVED, "replaced"),
        (None, RECEIVED, "none"),
        ("", RECEIVED, "none"),
        (True, RECEIVED, "replaced"),
        ({}, RECEIVED, "replaced"),
        (-5, RECEIVED, "replaced"),
        (float("nan"), RECEIVED, "replaced"),
        (float("inf"), RECEIVED, "replaced"),
        (1e308, RECEIVED, "replaced"),
        ("9" * 400, RECEIVED, "replaced"),
        ("0001-01-01T00:00:00+23:59", RECEIVED, "replaced"),
    ],
)
def test_event_times_have_golden_values(sent, timestamp, adjusted):
    assert replace_or_clamp_event_time(sent, RECEIVED) == (timestamp, adjusted)


@given(
    st.text()
    | st.floats()
    | st.integers()
    | st.datetimes(timezones=st.timezones()).map(datetime.isoformat)
    | st.none()
    | st.booleans()
)
def test_any_time_lies_between_2020_and_the_receipt(sent):
    timestamp, _ = replace_or_clamp_event_time(sent, RECEIVED)
    assert datetime(2020, 1, 1, tzinfo=UTC) <= timestamp <= RECEIVED
    assert timestamp.tzinfo is UTC
