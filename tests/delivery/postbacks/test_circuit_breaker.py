"""When calls to a platform account are allowed after failures and at its rate limit."""

from datetime import UTC, datetime, timedelta

import pytest

from service_core.delivery.postbacks.circuit_breaker import (
    FAILURE_THRESHOLD,
    AccountHealth,
    record_call_and_pause_at_limit,
    record_failure_and_pause_after_several,
)
from service_core.delivery.postbacks.ports import Throttle

NOW = datetime(2026, 7, 8, 15, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def after_failures(*retry_after):
    health = AccountHealth()
    for seconds in retry_after:
        health = record_failure_and_pause_after_several(health, NOW, seconds)
    return health


@pytest.mark.parametrize("seconds", [0, 5, 59])
def test_short_retry_after_does_not_reopen_a_closed_account(seconds):
    health = after_failures(*[None] * (FAILURE_THRESHOLD - 1), seconds)
    assert health.closed_until == NOW + MINUTE
    assert not health.allows_call(NOW + MINUTE - timedelta.resolution)
    assert health.allows_call(NOW + MINUTE)


def test_long_retry_after_extends_the_pause_and_a_later_short_one_keeps_it():
    assert after_failures(None, None, 600).closed_until == NOW + 10 * MINUTE
    assert after_failures(600, 5).closed_until == NOW + 10 * MINUTE


def test_pauses_double_up_to_half_an_hour():
    pauses = [after_failures(*[None] * number).closed_until for number in range(1, 20)]
    assert pauses[:2] == [None, None]
    assert [until - NOW for until in pauses[2:8]] == [MINUTE * minutes for minutes in (1, 2, 4, 8, 16, 30)]
    assert set(pauses[8:]) == {NOW + 30 * MINUTE}


def test_rate_limit_window_does_not_reopen_a_closed_account():
    closed = after_failures(600)
    limited = record_call_and_pause_at_limit(closed, Throttle(1, MINUTE), NOW)
    assert limited.closed_until == NOW + 10 * MINUTE
