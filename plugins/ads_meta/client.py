"""The Graph API over HTTP, and what its refusals mean. The token travels in a header: addresses are logged."""

import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cache
from typing import Any, Final, NoReturn, Self

import httpx2

from service_core.plugin import Clock, PlatformDown, PlatformRefused, ad_figures

SECONDS: Final = 60.0
_CREDENTIALS: Final = frozenset({10, 102, 104, 190, 294, *range(200, 300)})
"""Codes of a token that is missing, over, or lacks a permission."""
_LATER: Final = frozenset({1, 2, 4, 17, 32, 341, 368, 613, *range(80000, 80015)})
"""Codes of too many calls, and of faults of theirs."""


_TOO_MUCH: Final = "reduce the amount of data"
"""Said with code 1, which means anything else, too."""
_LEAST: Final = 25
"""Rows of a page below which nothing smaller is asked for."""


class _TooMuch(PlatformDown):
    """The page is too large."""


@cache
def _trust() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a question."""
    return httpx2.create_ssl_context()


class MetaClient:
    """A few questions on one connection; use it as an async context."""

    def __init__(self, api: str, token: str, clock: Clock) -> None:
        self._api, self._clock = api, clock
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._http = httpx2.AsyncClient(headers=headers, timeout=SECONDS, verify=_trust())

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *fault: Any) -> None:  # noqa: PYI036 - handed on as it is
        await self._http.__aexit__(*fault)

    async def page(self, path: str, question: Mapping[str, str], size: int) -> Mapping[str, Any]:
        """A page of what an edge holds; a smaller one, where Meta finds it too much at once.

        Raises:
            PlatformDown: Meta cannot be read now.
            PlatformRefused: the token is not good for it.
        """
        while True:
            try:
                return await self._get(path, {**question, "limit": str(size)})
            except _TooMuch:
                if size <= _LEAST:
                    raise
                size //= 2

    async def _get(self, path: str, question: Mapping[str, str]) -> Mapping[str, Any]:
        try:
            answer = await self._http.get(f"{self._api}/{path}", params=question)
        except httpx2.HTTPError as fault:
            raise PlatformDown(f"Meta does not answer ({type(fault).__name__}).") from None
        told: Any = None
        with suppress(ValueError):
            told = json.loads(answer.content, parse_float=Decimal)
        if not isinstance(told, dict):
            raise PlatformDown(f"Meta answers something else than JSON, with status {answer.status_code}.")
        if "error" in told or not answer.is_success:
            self._refuse(answer, told.get("error") or {})
        return told

    def _refuse(self, answer: httpx2.Response, error: Mapping[str, Any]) -> NoReturn:
        """Say what an error means: whose turn it is to do something."""
        code = error.get("code")
        reason = f"Meta says: {error.get('message') or f'status {answer.status_code}'}"
        known = code in _LATER or code in _CREDENTIALS
        if code in _CREDENTIALS or (not known and answer.status_code in {401, 403}):
            raise PlatformRefused(reason)
        if code == 1 and _TOO_MUCH in reason:
            raise _TooMuch(reason)
        asked = ad_figures.seconds_to_wait(answer.headers.get("retry-after"), self._clock())
        raise PlatformDown(reason, asked or _regained(answer.headers.get("x-business-use-case-usage")))


def _regained(usage: str | None) -> float | None:
    """Seconds until a business may ask again: the longest of what the header tells in minutes."""
    try:
        told = json.loads(usage or "{}")
        minutes = [one["estimated_time_to_regain_access"] for limits in told.values() for one in limits]
        return max(minutes, default=0) * 60.0 or None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
