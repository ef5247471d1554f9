"""Conversions sent to Meta: one call a batch, which is taken as a whole or not at all."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

from plugins.ads_meta.client import (
    API_URL,
    CREDENTIAL_CODES,
    RETRYABLE_CODES,
    open_client,
    retry_delay_seconds,
)
from plugins.ads_meta.payload import batch_body
from service_core.plugin import (
    CUSTOM_EVENT,
    Accepted,
    CredentialsRejected,
    FunctionSender,
    PlatformUnavailable,
    PostbackPlatform,
    Rejected,
    SendCall,
    SendLimits,
    SendOutcome,
    Throttle,
    platform_http,
    raise_for_status,
)

META: Final = PostbackPlatform(
    "meta",
    "Meta",
    "pixel_id",
    "pixel",
    "https://graph.facebook.com/…/{asset}/events",
    (
        "Purchase", "AddToCart", "InitiateCheckout", "Lead", "CompleteRegistration", "Subscribe", "StartTrial",
        "ViewContent", "Search", "AddPaymentInfo", "PageView", "AddToWishlist", "Contact", "Schedule",
        "CustomizeProduct", "Donate", "FindLocation", "SubmitApplication", CUSTOM_EVENT,
    ),
    has_browser_pixel=True,
)  # fmt: skip
SEND_LIMITS: Final = SendLimits(
    age_limit=timedelta(days=7),
    batch_size=1_000,
    throttle=Throttle(200, timedelta(hours=1)),
    click_types=("fbclid",),
    click_window=timedelta(days=90),
    match_keys=frozenset({"email", "phone", "fbclid", "fbc", "fbp", "user_id", "visitor_id", "anonymous_id"}),
    value_required=frozenset({"Purchase"}),
)
_NO_PIXEL: Final = 33
"""Subcode of an object that does not exist or may not be seen: no conversion is at fault."""


async def send_conversions(call: SendCall) -> list[SendOutcome]:
    """Post the conversions to the pixel.

    Raises:
        PlatformUnavailable: Meta takes none now.
        CredentialsRejected: the token is not good, or not for this pixel.
        BatchRejected: Meta takes none, because of some.
    """
    path = f"{quote(call.destination.asset_id, safe='')}/events"
    async with open_client(call.base_url, call.secrets, call.clock) as client:
        answer = await client.post_without_status_check(path, batch_body(call.destination, call.conversions))
    return [_batch_outcome_or_raise(answer)] * len(call.conversions)


CONVERSION_SENDER: Final = FunctionSender(
    META, SEND_LIMITS, API_URL, send_conversions, requires_test_code=True
)


def _batch_outcome_or_raise(response: platform_http.JsonResponse) -> SendOutcome:
    error = _response_error(response)
    code, subcode = error.get("code"), error.get("error_subcode")
    known = "/".join(str(number) for number in (code, subcode) if isinstance(number, int)) or None
    if code in CREDENTIAL_CODES:
        raise CredentialsRejected(f"Meta refuses the access token ({known}).")
    if code in RETRYABLE_CODES:
        raise PlatformUnavailable(
            f"Meta takes nothing now ({known}).", retry_delay_seconds(response), response.status
        )
    if subcode == _NO_PIXEL:
        return Rejected(f"{known}", response.status)
    raise_for_status(response.status, known, retry_delay_seconds(response))
    response.require_json()
    return Accepted(response.status)


def _response_error(answer: platform_http.JsonResponse) -> Mapping[str, Any]:
    error = answer.payload.get("error") if isinstance(answer.payload, dict) else None
    return error if isinstance(error, dict) else {}
