"""Classifies events as bot traffic. Events of bots are stored and marked, never rejected."""

from collections.abc import Mapping
from typing import Final

from service_core.ingestion.ports import Device

KNOWN_AGENT: Final = "known_agent"
HEADLESS: Final = "headless"
PREFETCH: Final = "prefetch"
REFERRER_SPAM: Final = "referrer_spam"
RATE: Final = "rate"

INFORMATIONAL_REASONS: Final = frozenset({RATE, "datacenter_ip"})

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
    signs = {
        KNOWN_AGENT: device is not None and device.crawler,
        HEADLESS: device is not None and device.headless,
        PREFETCH: any(_is_prefetch(headers.get(name, "")) for name in _PURPOSE_HEADERS),
        REFERRER_SPAM: spam_referrer,
        RATE: high_rate_as_note_only,
    }
    reasons = tuple(sorted(reason for reason, holds in signs.items() if holds))
    return self_declared or any(reason not in INFORMATIONAL_REASONS for reason in reasons), reasons


def _is_prefetch(value: str) -> bool:
    return bool(value) and any(word in value.lower() for word in _PREFETCH_PURPOSES)
