"""Conversions sent to Google Ads: one call a batch, in which each conversion is taken or refused for itself."""

from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from plugins.ads_google.client import API, TOKENS, codes_of, digits, error_of, failures, opened, wait_of
from plugins.ads_google.payload import body_of, event_ids, outcomes_of
from service_core.plugin import (
    Platform,
    PlatformDown,
    Rejected,
    SendCall,
    Sender,
    SendOutcome,
    Terms,
    Throttle,
    ad_figures,
    check_answer,
    platform_calls,
)

GOOGLE: Final = Platform(
    "google",
    "Google",
    "conversion_action_id",
    "conversion action",
    "https://googleads.googleapis.com/…/customers/{account}:uploadClickConversions",
)
TERMS: Final = Terms(
    age_limit=timedelta(days=90),
    batch=2_000,
    throttle=Throttle(2_000, timedelta(days=1)),
    click_types=("gclid", "gbraid", "wbraid"),
    click_window=timedelta(days=90),
    match_keys=frozenset({"gclid", "gbraid", "wbraid", "email", "phone"}),
)
_NOT_ALLOWED: Final = "CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE"
"""Google lets nobody begin to upload conversions since June 2026; the credentials are good for everything else."""


async def send(tokens: str, call: SendCall) -> list[SendOutcome]:
    """Upload the conversions, with access tokens of this address; a test is only validated.

    Raises:
        PlatformDown: Google takes none now.
        PlatformRefused: the credentials are not good, or not for this account.
        BatchRejected: Google cannot read the call.
    """
    account = quote(digits(call.destination.account_id), safe="")
    body, ids = body_of(call.destination, call.conversions), event_ids(call.conversions)
    with ad_figures.of_known_shape("Google Ads"):
        async with opened(call.api, tokens, call.secrets, call.clock) as client:
            answer = await client.post(f"customers/{account}:uploadClickConversions", body)
        refused = _refused(answer)
        if refused:
            return [refused] * len(call.conversions)
        outcomes = outcomes_of(answer.content(), answer.status, ids)
    return [outcomes[one.event_id] for one in call.conversions]


CONVERSIONS: Final = Sender(GOOGLE, TERMS, API, partial(send, TOKENS))


def _refused(answer: platform_calls.JsonAnswer) -> Rejected | None:
    """What is wrong with the call as a whole, when no conversion of it is at fault."""
    error = error_of(answer)
    faults = failures(error) if isinstance(error, dict) else []
    codes = codes_of(faults)
    code = next(iter(codes.values()), None)
    if _NOT_ALLOWED in codes.values():
        return Rejected(_NOT_ALLOWED, answer.status)
    if "quotaError" in codes:
        raise PlatformDown(f"Google takes nothing now ({code}).", wait_of(answer, faults), answer.status)
    if code and answer.status == HTTPStatus.BAD_REQUEST:
        return Rejected(code, answer.status)
    check_answer(answer.status, code, wait_of(answer, faults))
    return None
