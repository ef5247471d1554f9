"""The verdict on an event: a bot or not, and why (semantics 4). Bots are stored, never refused."""

from collections.abc import Mapping
from typing import Final

from service_core.intake.ports import Device

KNOWN_AGENT: Final = "known_agent"
HEADLESS: Final = "headless"
PREFETCH: Final = "prefetch"
REFERRER_SPAM: Final = "referrer_spam"
RATE: Final = "rate"

_NOTED_ONLY: Final = frozenset({RATE, "datacenter_ip"})

_PURPOSE_HEADERS: Final = ("sec-purpose", "purpose", "x-purpose", "x-moz")
_AHEAD_OF_TIME: Final = ("prefetch", "prerender", "preview")


def verdict(
    agent: Device | None,
    headers: Mapping[str, str],
    *,
    spam: bool = False,
    busy: bool = False,
    declared: bool = False,
) -> tuple[bool, tuple[str, ...]]:
    """Whether an event is a bot's, and the sorted reasons.

    Args:
        agent: what the judged user agent says; None when none may be judged.
        headers: request headers in lower case; empty when they are not a browser's.
        spam: whether the referrer is known for forgery.
        busy: whether the visitor sends more events a minute than a person could; noted only.
        declared: whether the sender said so itself (``properties.bot``).
    """
    found = {
        KNOWN_AGENT: agent is not None and agent.crawler,
        HEADLESS: agent is not None and agent.headless,
        PREFETCH: any(_ahead_of_time(headers.get(name, "")) for name in _PURPOSE_HEADERS),
        REFERRER_SPAM: spam,
        RATE: busy,
    }
    reasons = tuple(sorted(reason for reason, holds in found.items() if holds))
    return declared or any(reason not in _NOTED_ONLY for reason in reasons), reasons


def _ahead_of_time(value: str) -> bool:
    return bool(value) and any(word in value.lower() for word in _AHEAD_OF_TIME)
