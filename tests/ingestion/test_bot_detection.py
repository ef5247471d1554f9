"""Semantics 4: a verdict is data."""

import pytest

from service_core.ingestion.bot_detection import bot_columns, classify_bot, deciding_bot_reason
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


@pytest.mark.parametrize(
    ("reasons", "deciding"),
    [
        (("headless", "known_agent"), "known_agent"),
        (("headless", "rate"), "headless"),
        (("prefetch", "referrer_spam"), "prefetch"),
        (("datacenter_ip", "rate"), None),
        ((), None),
    ],
)
def test_deciding_reason_is_the_most_certain_one(reasons, deciding):
    assert deciding_bot_reason(reasons) == deciding


def test_bot_columns_name_the_crawler():
    device = Device(crawler=True, crawler_name="GPTBot", crawler_class="ai_training")
    assert bot_columns(device, True, ("known_agent",)) == {
        "is_bot": True,
        "bot_reasons": ("known_agent",),
        "bot_reason": "known_agent",
        "crawler": "GPTBot",
        "crawler_class": "ai_training",
    }
