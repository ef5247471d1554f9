"""Conversions sent to TikTok: one call a batch, which is taken as a whole or not at all."""

from datetime import timedelta
from typing import Final

from plugins.ads_tiktok.client import API, CREDENTIALS, opened
from plugins.ads_tiktok.payload import body_of
from service_core.plugin import (
    CUSTOM,
    Accepted,
    BatchRejected,
    Platform,
    PlatformDown,
    PlatformRefused,
    SendCall,
    Sender,
    SendOutcome,
    Terms,
    Throttle,
    check_answer,
    platform_calls,
)

TIKTOK: Final = Platform(
    "tiktok",
    "TikTok",
    "pixel_id",
    "pixel",
    "https://business-api.tiktok.com/open_api/…/event/track/",
    (
        "CompletePayment", "AddToCart", "InitiateCheckout", "SubmitForm", "CompleteRegistration", "ViewContent", "Search",
        "AddPaymentInfo", "AddToWishlist", "PlaceAnOrder", "Contact", "Download", "Subscribe", CUSTOM,
    ),
)  # fmt: skip
TERMS: Final = Terms(
    age_limit=timedelta(days=7),
    batch=1_000,
    throttle=Throttle(1_000, timedelta(hours=1)),
    click_types=("ttclid",),
    click_window=timedelta(days=28),
    match_keys=frozenset({"ttclid", "ttp", "email", "phone"}),
    valued=frozenset({"CompletePayment"}),
)
_BUSY: Final = frozenset({40100, 40700})
"""Codes of too many calls, and of a fault of theirs; so are all from `_THEIRS`."""
_THEIRS: Final = 50_000


async def send(call: SendCall) -> list[SendOutcome]:
    """Post the conversions of a pixel.

    Raises:
        PlatformDown: TikTok takes none now.
        PlatformRefused: the token is not good, or not for this pixel.
        BatchRejected: TikTok takes none, because of some.
    """
    async with opened(call.api, call.secrets, call.clock) as client:
        answer = await client.post("event/track/", body_of(call.destination, call.conversions))
    _check(answer)
    return [Accepted(answer.status)] * len(call.conversions)


CONVERSIONS: Final = Sender(TIKTOK, TERMS, API, send, tests_by_code=True)


def _check(answer: platform_calls.JsonAnswer) -> None:
    """Judge an answer: TikTok says with status 200 that something is wrong, by a code."""
    code = answer.told.get("code") if isinstance(answer.told, dict) else None
    known = code if isinstance(code, int) else None
    if known in CREDENTIALS:
        raise PlatformRefused(f"TikTok refuses the access token ({known}).")
    if known in _BUSY or (known or 0) >= _THEIRS:
        raise PlatformDown(f"TikTok takes nothing now ({known}).", answer.retry_after, answer.status)
    check_answer(answer.status, f"{known}" if known else None, answer.retry_after)
    answer.content()
    if known != 0:
        raise BatchRejected(f"{known}" if known else "no_code", answer.status)
