"""Classifies events as bot traffic. Events of bots are stored and marked, never rejected."""

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final

from service_core.ingestion.ports import Device

KNOWN_AGENT: Final = "known_agent"
HEADLESS: Final = "headless"
PREFETCH: Final = "prefetch"
REFERRER_SPAM: Final = "referrer_spam"
RATE: Final = "rate"

INFORMATIONAL_REASONS: Final = frozenset({RATE, "datacenter_ip"})
_DECIDING_REASONS: Final = (KNOWN_AGENT, HEADLESS, PREFETCH, REFERRER_SPAM)
"""The reasons that make a bot, the most certain first."""

_REASONS: Final = (KNOWN_AGENT, HEADLESS, PREFETCH, REFERRER_SPAM, RATE)
_PURPOSE_HEADERS: Final = ("sec-purpose", "purpose", "x-purpose", "x-moz")
_PREFETCH_PURPOSES: Final = ("prefetch", "prerender", "preview")


def classify_bot(
    device: Device | None,
    headers: Mapping[str, str],
    *,
    spam_referrer: bool = False,
    high_rate_as_note_only: bool = False,
    self_declared: bool = False,
) -> tuple[bool, tuple[str, ...]]:
    """Returns whether a bot sent the event, and the sorted reasons.

    Args:
        device: device of the user agent; None if the user agent of the client is unknown.
        headers: request headers in lower case; empty unless a browser sent them.
        spam_referrer: whether the referrer is listed as spam.
        high_rate_as_note_only: whether the visitor sends more events a minute than a person could; only added to the reasons.
        self_declared: whether the sender declared itself a bot (``properties.bot``).
    """
    reasons = _sorted_reasons(
        device is not None and device.crawler,
        device is not None and device.headless,
        bool(headers) and any(_is_prefetch(headers.get(name, "")) for name in _PURPOSE_HEADERS),
        spam_referrer,
        high_rate_as_note_only,
    )
    return self_declared or not INFORMATIONAL_REASONS.issuperset(reasons), reasons


@cache
def _sorted_reasons(*signs: bool) -> tuple[str, ...]:
    """Returns the sorted reasons of the signs that hold; the signs are in the order of `_REASONS`."""
    return tuple(sorted(reason for reason, holds in zip(_REASONS, signs, strict=True) if holds))


def bot_columns(device: Device | None, is_bot: bool, reasons: Collection[str]) -> dict[str, Any]:
    """Returns the bot columns of an event: the classification, its deciding reason, name and class of the crawler."""
    return {
        "is_bot": is_bot,
        "bot_reasons": tuple(sorted(reasons)),
        "bot_reason": deciding_bot_reason(reasons),
        "crawler": device.crawler_name if device else None,
        "crawler_class": device.crawler_class if device else None,
    }


def deciding_bot_reason(reasons: Collection[str]) -> str | None:
    """Returns the reason that makes a bot; None if no reason does, as when the sender declares itself one."""
    return next((reason for reason in _DECIDING_REASONS if reason in reasons), None)


def _is_prefetch(value: str) -> bool:
    return bool(value) and any(word in value.lower() for word in _PREFETCH_PURPOSES)
