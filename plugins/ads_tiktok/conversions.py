"""Conversions sent to TikTok: one call a batch, which is taken as a whole or not at all."""

from datetime import timedelta
from typing import Final

from plugins.ads_tiktok.client import API_URL, CREDENTIAL_CODES, open_client
from plugins.ads_tiktok.payload import batch_body
from service_core.plugin import (
    CUSTOM_EVENT,
    Accepted,
    BatchRejected,
    CredentialsRejected,
    FunctionSender,
    PlatformUnavailable,
    PostbackPlatform,
    SendCall,
    SendLimits,
    SendOutcome,
    Throttle,
    platform_http,
    raise_for_status,
)

TIKTOK: Final = PostbackPlatform(
    "tiktok",
    "TikTok",
    "pixel_id",
    "pixel",
    "https://business-api.tiktok.com/open_api/…/event/track/",
    (
        "CompletePayment", "AddToCart", "InitiateCheckout", "SubmitForm", "CompleteRegistration", "ViewContent", "Search",
        "AddPaymentInfo", "AddToWishlist", "PlaceAnOrder", "Contact", "Download", "Subscribe", CUSTOM_EVENT,
    ),
    has_browser_pixel=True,
)  # fmt: skip
SEND_LIMITS: Final = SendLimits(
    age_limit=timedelta(days=7),
    batch_size=1_000,
    throttle=Throttle(1_000, timedelta(hours=1)),
    click_types=("ttclid",),
    click_window=timedelta(days=28),
    match_keys=frozenset({"ttclid", "ttp", "email", "phone"}),
    value_required=frozenset({"CompletePayment"}),
)
_RETRYABLE_CODES: Final = frozenset({40100, 40700})
"""Codes of too many calls, and of a fault of theirs; so are all from `_FIRST_SERVER_ERROR_CODE`."""
_FIRST_SERVER_ERROR_CODE: Final = 50_000


async def send_conversions(call: SendCall) -> list[SendOutcome]:
    """Post the conversions of a pixel.

    Raises:
        PlatformUnavailable: TikTok takes none now.
        CredentialsRejected: the token is not good, or not for this pixel.
        BatchRejected: TikTok takes none, because of some.
    """
    async with open_client(call.base_url, call.secrets, call.clock) as client:
        answer = await client.post_without_status_check(
            "event/track/", batch_body(call.destination, call.conversions)
        )
    _raise_unless_batch_accepted(answer)
    return [Accepted(answer.status)] * len(call.conversions)


CONVERSION_SENDER: Final = FunctionSender(
    TIKTOK, SEND_LIMITS, API_URL, send_conversions, requires_test_code=True
)


def _raise_unless_batch_accepted(response: platform_http.JsonResponse) -> None:
    """Raises unless the batch was accepted. TikTok reports errors by a code of its own, with status 200."""
    code = response.payload.get("code") if isinstance(response.payload, dict) else None
    known = code if isinstance(code, int) else None
    if known in CREDENTIAL_CODES:
        raise CredentialsRejected(f"TikTok refuses the access token ({known}).")
    if known in _RETRYABLE_CODES or (known or 0) >= _FIRST_SERVER_ERROR_CODE:
        raise PlatformUnavailable(
            f"TikTok takes nothing now ({known}).", response.retry_after, response.status
        )
    raise_for_status(response.status, f"{known}" if known else None, response.retry_after)
    response.require_json()
    if known != 0:
        raise BatchRejected(f"{known}" if known else "no_code", response.status)
