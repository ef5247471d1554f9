"""Conversions sent to OpenAI: one call a batch, which is taken as a whole or not at all."""

from datetime import timedelta
from typing import Final

from plugins.ads_openai.client import API_URL, open_client
from plugins.ads_openai.connection import CONNECTION
from plugins.ads_openai.payload import EVENT_DATA_TYPES, batch_body
from service_core.plugin import (
    Accepted,
    FunctionSender,
    PostbackPlatform,
    SendCall,
    SendLimits,
    SendOutcome,
    Throttle,
    platform_http,
    raise_for_status,
)

OPENAI: Final = PostbackPlatform(
    "openai",
    "OpenAI",
    "pixel_id",
    "pixel",
    "https://bzr.openai.com/…/events?pid={asset}",
    tuple(EVENT_DATA_TYPES),
    connection=CONNECTION,
)
SEND_LIMITS: Final = SendLimits(
    age_limit=timedelta(days=7),
    batch_size=1_000,
    throttle=Throttle(1_000, timedelta(hours=1)),
    click_types=("oppref",),
    click_window=timedelta(days=30),
    match_keys=frozenset({"oppref", "email", "user_id", "visitor_id", "anonymous_id"}),
    value_required=frozenset({"order_created"}),
)


async def send_conversions(call: SendCall) -> list[SendOutcome]:
    """Post the conversions of a pixel.

    Raises:
        PlatformUnavailable: OpenAI takes none now.
        CredentialsRejected: the key is not good, or not for this pixel.
        BatchRejected: OpenAI takes none, because of some.
    """
    async with open_client(call.secrets, call.clock) as calls:
        answer = await calls.post_json(
            f"{call.base_url}/events",
            batch_body(call.destination, call.conversions),
            params={"pid": call.destination.asset_id},
        )
    raise_for_status(answer.status, _error_code(answer), answer.retry_after)
    answer.require_json()
    return [Accepted(answer.status)] * len(call.conversions)


CONVERSION_SENDER: Final = FunctionSender(OPENAI, SEND_LIMITS, API_URL, send_conversions)


def _error_code(answer: platform_http.JsonResponse) -> str | None:
    """The code of an error, else its type; its message may repeat what was sent."""
    error = answer.payload.get("error") if isinstance(answer.payload, dict) else None
    known = error if isinstance(error, dict) else {}
    return next((text for text in (known.get("code"), known.get("type")) if isinstance(text, str)), None)
