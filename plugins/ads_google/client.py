"""The Google Ads API over HTTP as JSON, and what its refusals mean."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NoReturn

from service_core.plugin import Clock, PlatformDown, PlatformRefused, platform_calls

API: Final = "https://googleads.googleapis.com/v26"
TOKENS: Final = "https://oauth2.googleapis.com/token"
MANAGER: Final = "login_customer_id"
"""Id of a manager account; with it, the accounts below that one are read."""
SECONDS: Final = 120.0
_NEEDED: Final = ("developer_token", "client_id", "client_secret", "refresh_token")
_CLOSED: Final = frozenset({"CUSTOMER_NOT_ENABLED"})
"""Accounts that were cancelled, or never finished: they are no fault of the credentials."""
_DENIED: Final = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""What the address of tokens says of credentials that are not good."""


class _AccountClosed(PlatformRefused):
    """The account is not open, whoever asks."""


@asynccontextmanager
async def opened(
    api: str, tokens: str, secrets: Mapping[str, str], clock: Clock
) -> AsyncIterator["GoogleClient"]:
    """A few calls with one access token.

    Args:
        api: address with the version.
        tokens: address of access tokens.
        secrets: good for both.
        clock: the present.

    Raises:
        PlatformDown: there is nothing to call with, or no access token now.
        PlatformRefused: the credentials are missing, or not good.
    """
    platform_calls.require(secrets, _NEEDED)
    with platform_calls.http_client("Google Ads"):
        import httpx2  # noqa: PLC0415 - 20 MB that only a call needs
    async with httpx2.AsyncClient(timeout=SECONDS, verify=_trust()) as http:
        calls = platform_calls.JsonCalls("Google", http.request, httpx2.HTTPError, clock)
        http.headers.update(await _headers(calls, tokens, secrets))
        yield GoogleClient(api, calls)


def digits(text: str | None) -> str:
    """An id without the dashes it is shown with."""
    return (text or "").replace("-", "").strip()


@cache
def _trust() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a question."""
    import httpx2  # noqa: PLC0415 - as above

    return httpx2.create_ssl_context()


async def _headers(
    calls: platform_calls.JsonCalls, tokens: str, secrets: Mapping[str, str]
) -> dict[str, str]:
    """What every call carries: an access token above all."""
    asked = {name: secrets[name] for name in ("client_id", "client_secret", "refresh_token")}
    answer = await calls.ask("POST", tokens, data={"grant_type": "refresh_token", **asked})
    headers = {
        "Authorization": f"Bearer {_good(answer)['access_token']}",
        "developer-token": secrets["developer_token"],
    }
    manager = digits(secrets.get(MANAGER))
    return headers | ({"login-customer-id": manager} if manager else {})


@dataclass(frozen=True, slots=True)
class GoogleClient:
    """What can be asked of the Google Ads API."""

    api: str
    calls: platform_calls.JsonCalls

    async def accessible(self) -> list[str]:
        """Ids of the accounts the person may open directly."""
        told = _good(await self.calls.ask("GET", f"{self.api}/customers:listAccessibleCustomers"))
        return [name.rpartition("/")[2] for name in told.get("resourceNames") or ()]

    async def search(self, customer: str, query: str) -> list[Mapping[str, Any]]:
        """The rows that answer a query.

        Raises:
            PlatformDown: Google cannot be read now.
            PlatformRefused: the credentials are not good for it.
        """
        pieces = _good(await self.post(f"customers/{customer}/googleAds:searchStream", {"query": query}))
        return [row for piece in pieces for row in piece.get("results") or ()]

    async def search_open(self, customer: str, query: str) -> list[Mapping[str, Any]]:
        """As `search`; nothing, where the account is closed."""
        try:
            return await self.search(customer, query)
        except _AccountClosed:
            return []

    async def post(self, path: str, body: Any) -> platform_calls.JsonAnswer:
        """Send something; the answer is not judged.

        Raises:
            PlatformDown: there was no answer.
        """
        return await self.calls.post(f"{self.api}/{path}", body)


def failures(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What is wrong in detail, as the failures of the Google Ads API list it."""
    return [fault for detail in status.get("details") or () for fault in detail.get("errors") or ()]


def codes_of(faults: list[Mapping[str, Any]]) -> dict[str, str]:
    """Codes of failures by their kind, such as ``quotaError``."""
    return {kind: code for fault in faults for kind, code in (fault.get("errorCode") or {}).items()}


def wait_of(answer: platform_calls.JsonAnswer, faults: list[Mapping[str, Any]]) -> float | None:
    """Seconds that an answer asks to wait for, in whichever way."""
    return answer.retry_after or _delay(faults)


def error_of(answer: platform_calls.JsonAnswer) -> Any:
    """What an answer says is wrong: an object, a word of the address of tokens, or None."""
    first = answer.told[0] if isinstance(answer.told, list) and answer.told else answer.told
    return first.get("error") if isinstance(first, dict) else None


def _good(answer: platform_calls.JsonAnswer) -> Any:
    """What an answer tells, unless it refuses."""
    told = answer.content()
    if not answer.is_good:
        _refuse(answer)
    return told


def _refuse(answer: platform_calls.JsonAnswer) -> NoReturn:
    """Say what a refusal means: whose turn it is to do something."""
    error = error_of(answer)
    if isinstance(error, str):
        reason = f"Google gives no access token ({error})."
        raise PlatformRefused(reason) if error in _DENIED else PlatformDown(reason, answer.retry_after)
    faults = failures(error or {})
    codes = codes_of(faults)
    said = next((fault["message"] for fault in faults if fault.get("message")), None)
    reason = f"Google says: {said or (error or {}).get('message') or f'status {answer.status}'}"
    if _CLOSED & set(codes.values()):
        raise _AccountClosed(reason)
    if answer.status in {401, 403} and "quotaError" not in codes:
        raise PlatformRefused(reason)
    raise PlatformDown(reason, wait_of(answer, faults), answer.status)


def _delay(faults: list[Mapping[str, Any]]) -> float | None:
    """Seconds that a quota asks to wait for, as in ``"30s"``."""
    asked = ((fault.get("details") or {}).get("quotaErrorDetails") or {} for fault in faults)
    texts = [str(one.get("retryDelay", "")).removesuffix("s") for one in asked]
    return max((float(text) for text in texts if text.replace(".", "", 1).isdecimal()), default=None)
