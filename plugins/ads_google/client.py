"""The Google Ads API over HTTP as JSON, and what its refusals mean."""

import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cache
from typing import Any, Final, NoReturn, Self

import httpx2

from service_core.plugin import Clock, PlatformDown, PlatformRefused, ad_figures

SECONDS: Final = 120.0
_CLOSED: Final = frozenset({"CUSTOMER_NOT_ENABLED"})
"""Accounts that were cancelled, or never finished: they are no fault of the credentials."""
_DENIED: Final = frozenset({"invalid_grant", "invalid_client", "unauthorized_client"})
"""What the address of tokens says of credentials that are not good."""


class _AccountClosed(PlatformRefused):
    """The account is not open, whoever asks."""


@cache
def _trust() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a question."""
    return httpx2.create_ssl_context()


class GoogleClient:
    """A few questions with one access token; use it as an async context.

    Args:
        api: address with the version.
        tokens: address of access tokens.
        secrets: good for both.
        clock: the present.
    """

    def __init__(self, api: str, tokens: str, secrets: Mapping[str, str], clock: Clock) -> None:
        self._api, self._tokens, self._secrets, self._clock = api, tokens, secrets, clock
        self._http = httpx2.AsyncClient(timeout=SECONDS, verify=_trust())

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        try:
            self._http.headers.update(await self._headers())
        except BaseException:
            await self._http.aclose()
            raise
        return self

    async def __aexit__(self, *fault: Any) -> None:  # noqa: PYI036 - handed on as it is
        await self._http.__aexit__(*fault)

    async def accessible(self) -> list[str]:
        """Ids of the accounts the person may open directly."""
        told = await self._answer("GET", f"{self._api}/customers:listAccessibleCustomers")
        return [name.rpartition("/")[2] for name in told.get("resourceNames") or ()]

    async def search(self, customer: str, query: str) -> list[Mapping[str, Any]]:
        """The rows that answer a query.

        Raises:
            PlatformDown: Google cannot be read now.
            PlatformRefused: the credentials are not good for it.
        """
        address = f"{self._api}/customers/{customer}/googleAds:searchStream"
        pieces = await self._answer("POST", address, json={"query": query})
        return [row for piece in pieces for row in piece.get("results") or ()]

    async def search_open(self, customer: str, query: str) -> list[Mapping[str, Any]]:
        """As `search`; nothing, where the account is closed."""
        try:
            return await self.search(customer, query)
        except _AccountClosed:
            return []

    async def _headers(self) -> dict[str, str]:
        """What every question carries: an access token above all."""
        asked = {name: self._secrets[name] for name in ("client_id", "client_secret", "refresh_token")}
        told = await self._answer("POST", self._tokens, data={"grant_type": "refresh_token", **asked})
        headers = {
            "Authorization": f"Bearer {told['access_token']}",
            "developer-token": self._secrets["developer_token"],
        }
        manager = self._secrets.get("login_customer_id")
        return headers | ({"login-customer-id": manager} if manager else {})

    async def _answer(self, method: str, address: str, **content: Any) -> Any:
        try:
            answer = await self._http.request(method, address, **content)
        except httpx2.HTTPError as fault:
            raise PlatformDown(f"Google does not answer ({type(fault).__name__}).") from None
        told: Any = None
        with suppress(ValueError):
            told = json.loads(answer.content, parse_float=Decimal)
        if not isinstance(told, dict | list):
            raise PlatformDown(f"Google answers something else than JSON, with status {answer.status_code}.")
        if not answer.is_success:
            self._refuse(answer, told)
        return told

    def _refuse(self, answer: httpx2.Response, told: Any) -> NoReturn:
        """Say what a refusal means: whose turn it is to do something."""
        first = told[0] if isinstance(told, list) and told else told
        error = first.get("error") if isinstance(first, dict) else None
        if isinstance(error, str):
            reason = f"Google says: {first.get('error_description') or error}"
            raise PlatformRefused(reason) if error in _DENIED else PlatformDown(reason)
        faults = _faults(error or {})
        codes = {kind: code for fault in faults for kind, code in (fault.get("errorCode") or {}).items()}
        said = next((fault["message"] for fault in faults if fault.get("message")), None)
        reason = f"Google says: {said or (error or {}).get('message') or f'status {answer.status_code}'}"
        if _CLOSED & set(codes.values()):
            raise _AccountClosed(reason)
        if answer.status_code in {401, 403} and "quotaError" not in codes:
            raise PlatformRefused(reason)
        asked = ad_figures.seconds_to_wait(answer.headers.get("retry-after"), self._clock())
        raise PlatformDown(reason, asked or _delay(faults))


def _faults(error: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What is wrong in detail, as the failures of the Google Ads API list it."""
    return [fault for detail in error.get("details") or () for fault in detail.get("errors") or ()]


def _delay(faults: list[Mapping[str, Any]]) -> float | None:
    """Seconds that a quota asks to wait for, as in ``"30s"``."""
    asked = ((fault.get("details") or {}).get("quotaErrorDetails") or {} for fault in faults)
    texts = [str(one.get("retryDelay", "")).removesuffix("s") for one in asked]
    return max((float(text) for text in texts if text.replace(".", "", 1).isdecimal()), default=None)
