"""Semantics 4: a verdict is data."""

import pytest

from service_core.ingestion.bot_detection import classify_bot
from service_core.ingestion.ports import Device


def test_a_person_is_no_bot():
    assert classify_bot(Device("desktop", "Firefox"), {}) == (False, ())
    assert classify_bot(None, {}) == (False, ())


def test_the_reasons_are_sorted():
    agent = Device(crawler=True, headless=True)
    assert classify_bot(agent, {"sec-purpose": "prefetch;prerender"}, spam_referrer=True, high_rate=True) == (
        True,
        ("headless", "known_agent", "prefetch", "rate", "referrer_spam"),
    )


@pytest.mark.parametrize(
    "headers",
    [{"purpose": "prefetch"}, {"x-purpose": "preview"}, {"x-moz": "prefetch"}, {"sec-purpose": "Prefetch"}],
)
def test_a_page_fetched_ahead_of_time_is_no_visit(headers):
    assert classify_bot(None, headers) == (True, ("prefetch",))


def test_many_events_are_noted_and_make_no_bot():
    assert classify_bot(None, {}, high_rate=True) == (False, ("rate",))


def test_a_sender_may_say_so_itself():
    assert classify_bot(None, {}, self_declared=True) == (True, ())
