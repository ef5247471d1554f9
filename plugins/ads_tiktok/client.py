"""The Business API over HTTP: its answers have a status of their own, beside that of HTTP."""

import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cache
from typing import Any, Final, Self

import httpx2

from service_core.plugin import Clock, PlatformDown, PlatformRefused, ad_figures

SECONDS: Final = 60.0
_CREDENTIALS: Final = frozenset({40001, *range(40101, 40120)})
"""Codes of an app or a token that is not good, or not for this advertiser; 40100 is too many calls."""


@cache
def _trust() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a question."""
    return httpx2.create_ssl_context()


class TikTokClient:
    """A few questions on one connection; use it as an async context."""

    def __init__(self, api: str, token: str, clock: Clock) -> None:
        self._api, self._clock = api, clock
        headers = {"Access-Token": token, "Accept": "application/json"}
        self._http = httpx2.AsyncClient(headers=headers, timeout=SECONDS, verify=_trust())

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *fault: Any) -> None:  # noqa: PYI036 - handed on as it is
        await self._http.__aexit__(*fault)

    async def get(self, path: str, question: Mapping[str, str]) -> Mapping[str, Any]:
        """What an answer holds.

        Raises:
            PlatformDown: TikTok cannot be read now.
            PlatformRefused: the credentials are not good for it.
        """
        try:
            answer = await self._http.get(f"{self._api}/{path}", params=question)
        except httpx2.HTTPError as fault:
            raise PlatformDown(f"TikTok does not answer ({type(fault).__name__}).") from None
        told: Any = None
        with suppress(ValueError):
            told = json.loads(answer.content, parse_float=Decimal)
        if not isinstance(told, dict):
            raise PlatformDown(f"TikTok answers something else than JSON, with status {answer.status_code}.")
        code = told.get("code")
        if code == 0 and answer.is_success:
            held: Mapping[str, Any] = told["data"]
            return held
        reason = f"TikTok says: {told.get('message') or f'status {answer.status_code}'}"
        if code in _CREDENTIALS or answer.status_code in {401, 403}:
            raise PlatformRefused(reason)
        wait = ad_figures.seconds_to_wait(answer.headers.get("retry-after"), self._clock())
        raise PlatformDown(reason, wait)
