"""Conversions sent to Meta: one call a batch, which is taken as a whole or not at all."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

from plugins.ads_meta.client import API, CREDENTIALS, LATER, opened, wait_of
from plugins.ads_meta.payload import body_of
from service_core.plugin import (
    CUSTOM,
    Accepted,
    Platform,
    PlatformDown,
    PlatformRefused,
    Rejected,
    SendCall,
    Sender,
    SendOutcome,
    Terms,
    Throttle,
    check_answer,
    platform_calls,
)

META: Final = Platform(
    "meta",
    "Meta",
    "pixel_id",
    "pixel",
    "https://graph.facebook.com/…/{asset}/events",
    (
        "Purchase", "AddToCart", "InitiateCheckout", "Lead", "CompleteRegistration", "Subscribe", "StartTrial",
        "ViewContent", "Search", "AddPaymentInfo", "PageView", "AddToWishlist", "Contact", "Schedule",
        "CustomizeProduct", "Donate", "FindLocation", "SubmitApplication", CUSTOM,
    ),
)  # fmt: skip
TERMS: Final = Terms(
    age_limit=timedelta(days=7),
    batch=1_000,
    throttle=Throttle(200, timedelta(hours=1)),
    click_types=("fbclid",),
    click_window=timedelta(days=90),
    match_keys=frozenset({"email", "phone", "fbclid", "fbc", "fbp", "user_id", "visitor_id", "anonymous_id"}),
    valued=frozenset({"Purchase"}),
)
_NO_PIXEL: Final = 33
"""Subcode of an object that is not there, or not for whoever asks: no conversion is at fault."""


async def send(call: SendCall) -> list[SendOutcome]:
    """Post the conversions to the pixel.

    Raises:
        PlatformDown: Meta takes none now.
        PlatformRefused: the token is not good, or not for this pixel.
        BatchRejected: Meta takes none, because of some.
    """
    path = f"{quote(call.destination.asset_id, safe='')}/events"
    async with opened(call.api, call.secrets, call.clock) as client:
        answer = await client.post(path, body_of(call.destination, call.conversions))
    return [_outcome(answer)] * len(call.conversions)


CONVERSIONS: Final = Sender(META, TERMS, API, send, tests_by_code=True)


def _outcome(answer: platform_calls.JsonAnswer) -> SendOutcome:
    error = _error(answer)
    code, subcode = error.get("code"), error.get("error_subcode")
    known = "/".join(str(one) for one in (code, subcode) if isinstance(one, int)) or None
    if code in CREDENTIALS:
        raise PlatformRefused(f"Meta refuses the access token ({known}).")
    if code in LATER:
        raise PlatformDown(f"Meta takes nothing now ({known}).", wait_of(answer), answer.status)
    if subcode == _NO_PIXEL:
        return Rejected(f"{known}", answer.status)
    check_answer(answer.status, known, wait_of(answer))
    answer.content()
    return Accepted(answer.status)


def _error(answer: platform_calls.JsonAnswer) -> Mapping[str, Any]:
    told = answer.told.get("error") if isinstance(answer.told, dict) else None
    return told if isinstance(told, dict) else {}
