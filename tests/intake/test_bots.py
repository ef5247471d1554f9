"""Semantics 4: a verdict is data."""

import pytest

from service_core.intake.bots import verdict
from service_core.intake.ports import Device


def test_a_person_is_no_bot():
    assert verdict(Device("desktop", "Firefox"), {}) == (False, ())
    assert verdict(None, {}) == (False, ())


def test_the_reasons_are_sorted():
    agent = Device(crawler=True, headless=True)
    assert verdict(agent, {"sec-purpose": "prefetch;prerender"}, spam=True, busy=True) == (
        True,
        ("headless", "known_agent", "prefetch", "rate", "referrer_spam"),
    )


@pytest.mark.parametrize(
    "headers",
    [{"purpose": "prefetch"}, {"x-purpose": "preview"}, {"x-moz": "prefetch"}, {"sec-purpose": "Prefetch"}],
)
def test_a_page_fetched_ahead_of_time_is_no_visit(headers):
    assert verdict(None, headers) == (True, ("prefetch",))


def test_many_events_are_noted_and_make_no_bot():
    assert verdict(None, {}, busy=True) == (False, ("rate",))


def test_a_sender_may_say_so_itself():
    assert verdict(None, {}, declared=True) == (True, ())
