"""Conversions sent to OpenAI: one call a batch, which is taken as a whole or not at all."""

from datetime import timedelta
from typing import Final

from plugins.ads_openai.client import API, opened
from plugins.ads_openai.payload import SHAPES, body_of
from service_core.plugin import (
    Accepted,
    Platform,
    SendCall,
    Sender,
    SendOutcome,
    Terms,
    Throttle,
    check_answer,
    platform_calls,
)

OPENAI: Final = Platform(
    "openai", "OpenAI", "pixel_id", "pixel", "https://bzr.openai.com/…/events?pid={asset}", tuple(SHAPES)
)
TERMS: Final = Terms(
    age_limit=timedelta(days=7),
    batch=1_000,
    throttle=Throttle(1_000, timedelta(hours=1)),
    click_types=("oppref",),
    click_window=timedelta(days=30),
    match_keys=frozenset({"oppref", "email", "user_id", "visitor_id", "anonymous_id"}),
    valued=frozenset({"order_created"}),
)


async def send(call: SendCall) -> list[SendOutcome]:
    """Post the conversions of a pixel.

    Raises:
        PlatformDown: OpenAI takes none now.
        PlatformRefused: the key is not good, or not for this pixel.
        BatchRejected: OpenAI takes none, because of some.
    """
    async with opened(call.secrets, call.clock) as calls:
        answer = await calls.post(
            f"{call.api}/events",
            body_of(call.destination, call.conversions),
            params={"pid": call.destination.asset_id},
        )
    check_answer(answer.status, _code(answer), answer.retry_after)
    answer.content()
    return [Accepted(answer.status)] * len(call.conversions)


CONVERSIONS: Final = Sender(OPENAI, TERMS, API, send)


def _code(answer: platform_calls.JsonAnswer) -> str | None:
    """The code of an error, else its type; its message may repeat what was sent."""
    error = answer.told.get("error") if isinstance(answer.told, dict) else None
    known = error if isinstance(error, dict) else {}
    return next((text for text in (known.get("code"), known.get("type")) if isinstance(text, str)), None)
