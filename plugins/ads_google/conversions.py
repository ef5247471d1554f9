"""Conversions sent to Google Ads: one call a batch, in which each conversion is taken or refused for itself."""

from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from plugins.ads_google.client import (
    API_URL,
    TOKEN_URL,
    codes_by_kind,
    error_details,
    open_authorized_client,
    response_error,
    retry_delay_seconds,
    strip_dashes,
)
from plugins.ads_google.payload import (
    distinct_event_ids,
    parse_outcome_by_event_id,
    upload_body_without_repeated_orders,
)
from service_core.plugin import (
    FunctionSender,
    PlatformUnavailable,
    PostbackPlatform,
    Rejected,
    SendCall,
    SendLimits,
    SendOutcome,
    Throttle,
    platform_http,
    platform_numbers,
    raise_for_status,
)

GOOGLE: Final = PostbackPlatform(
    "google",
    "Google",
    "conversion_action_id",
    "conversion action",
    "https://googleads.googleapis.com/…/customers/{account}:uploadClickConversions",
)
SEND_LIMITS: Final = SendLimits(
    age_limit=timedelta(days=90),
    batch_size=2_000,
    throttle=Throttle(2_000, timedelta(days=1)),
    click_types=("gclid", "gbraid", "wbraid"),
    click_window=timedelta(days=90),
    match_keys=frozenset({"gclid", "gbraid", "wbraid", "email", "phone"}),
)
_NOT_ALLOWED: Final = "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"
"""Since June 2026 Google accepts no new uploaders of conversions; the credentials work for everything else."""


async def send_conversions(token_url: str, call: SendCall) -> list[SendOutcome]:
    """Upload the conversions, with access tokens of this address; a test is only validated.

    Raises:
        PlatformUnavailable: Google takes none now.
        CredentialsRejected: the credentials are not good, or not for this account.
        BatchRejected: Google cannot read the call.
    """
    account = quote(strip_dashes(call.destination.account_id), safe="")
    body, ids = (
        upload_body_without_repeated_orders(call.destination, call.conversions),
        distinct_event_ids(call.conversions),
    )
    with platform_numbers.malformed_response_as_unavailable("Google Ads"):
        async with open_authorized_client(call.base_url, token_url, call.secrets, call.clock) as client:
            answer = await client.post_without_status_check(
                f"customers/{account}:uploadClickConversions", body
            )
        refused = _batch_rejection_or_raise(answer)
        if refused:
            return [refused] * len(call.conversions)
        outcomes = parse_outcome_by_event_id(answer.require_json(), answer.status, ids)
    return [outcomes[conversion.event_id] for conversion in call.conversions]


CONVERSION_SENDER: Final = FunctionSender(GOOGLE, SEND_LIMITS, API_URL, partial(send_conversions, TOKEN_URL))


def _batch_rejection_or_raise(response: platform_http.JsonResponse) -> Rejected | None:
    """Returns the rejection of the whole batch, None if it was processed; raises for errors that a retry may solve."""
    error = response_error(response)
    faults = error_details(error) if isinstance(error, dict) else []
    codes = codes_by_kind(faults)
    code = next(iter(codes.values()), None)
    if _NOT_ALLOWED in codes.values():
        return Rejected(_NOT_ALLOWED, response.status)
    if "quotaError" in codes:
        raise PlatformUnavailable(
            f"Google takes nothing now ({code}).", retry_delay_seconds(response, faults), response.status
        )
    if code and response.status == HTTPStatus.BAD_REQUEST:
        return Rejected(code, response.status)
    raise_for_status(response.status, code, retry_delay_seconds(response, faults))
    return None
