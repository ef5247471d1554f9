"""Semantics 4: a verdict is data."""

import pytest

from service_core.ingestion.bot_detection import classify_bot
from service_core.ingestion.ports import Device


def test_browser_user_agents_are_not_bots():
    assert classify_bot(Device("desktop", "Firefox"), {}) == (False, ())
    assert classify_bot(None, {}) == (False, ())


def test_reasons_are_sorted():
    agent = Device(crawler=True, headless=True)
    assert classify_bot(
        agent, {"sec-purpose": "prefetch;prerender"}, spam_referrer=True, high_rate_as_note_only=True
    ) == (
        True,
        ("headless", "known_agent", "prefetch", "rate", "referrer_spam"),
    )


@pytest.mark.parametrize(
    "headers",
    [{"purpose": "prefetch"}, {"x-purpose": "preview"}, {"x-moz": "prefetch"}, {"sec-purpose": "Prefetch"}],
)
def test_prefetch_is_not_a_visit(headers):
    assert classify_bot(None, headers) == (True, ("prefetch",))


def test_high_event_rate_is_noted_and_does_not_mark_a_bot():
    assert classify_bot(None, {}, high_rate_as_note_only=True) == (False, ("rate",))


def test_sender_can_mark_an_event_as_bot():
    assert classify_bot(None, {}, self_declared=True) == (True, ())
