"""The Graph API over HTTP, and what its refusals mean. The token travels in a header: addresses are logged."""

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NoReturn

from service_core.plugin import Clock, PlatformDown, PlatformRefused, platform_calls

API: Final = "https://graph.facebook.com/v26.0"
SECONDS: Final = 60.0
CREDENTIALS: Final = frozenset({10, 102, 104, 190, 294, *range(200, 300)})
"""Codes of a token that is missing, over, or lacks a permission."""
LATER: Final = frozenset({1, 2, 4, 17, 32, 341, 368, 613, *range(80000, 80015)})
"""Codes of too many calls, and of faults of theirs."""


_TOO_MUCH: Final = "reduce the amount of data"
"""Said with code 1, which means anything else, too."""
_LEAST: Final = 25
"""Rows of a page below which nothing smaller is asked for."""


class _TooMuch(PlatformDown):
    """The page is too large."""


@asynccontextmanager
async def opened(api: str, secrets: Mapping[str, str], clock: Clock) -> AsyncIterator["MetaClient"]:
    """A few calls on one connection.

    Raises:
        PlatformDown: there is nothing to call with.
        PlatformRefused: the token is missing.
    """
    platform_calls.require(secrets, ("access_token",))
    with platform_calls.http_client("Meta"):
        import httpx2  # noqa: PLC0415 - 20 MB that only a call needs
    headers = {"Authorization": f"Bearer {secrets['access_token']}", "Accept": "application/json"}
    async with httpx2.AsyncClient(headers=headers, timeout=SECONDS, verify=_trust()) as http:
        yield MetaClient(api, platform_calls.JsonCalls("Meta", http.request, httpx2.HTTPError, clock))


@cache
def _trust() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a question."""
    import httpx2  # noqa: PLC0415 - as above

    return httpx2.create_ssl_context()


@dataclass(frozen=True, slots=True)
class MetaClient:
    """What can be asked of the Graph API."""

    api: str
    calls: platform_calls.JsonCalls

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

    async def post(self, path: str, body: Any) -> platform_calls.JsonAnswer:
        """Add something to an edge; the answer is not judged.

        Raises:
            PlatformDown: there was no answer.
        """
        return await self.calls.post(f"{self.api}/{path}", body)

    async def _get(self, path: str, question: Mapping[str, str]) -> Mapping[str, Any]:
        answer = await self.calls.ask("GET", f"{self.api}/{path}", params=question)
        told: Mapping[str, Any] = answer.content()
        if "error" in told or not answer.is_good:
            _refuse(answer, told.get("error") or {})
        return told


def wait_of(answer: platform_calls.JsonAnswer) -> float | None:
    """Seconds that an answer asks to wait for, in whichever way."""
    return answer.retry_after or _regained(answer.headers.get("x-business-use-case-usage"))


def _refuse(answer: platform_calls.JsonAnswer, error: Mapping[str, Any]) -> NoReturn:
    """Say what an error means: whose turn it is to do something."""
    code = error.get("code")
    reason = f"Meta says: {error.get('message') or f'status {answer.status}'}"
    known = code in LATER or code in CREDENTIALS
    if code in CREDENTIALS or (not known and answer.status in {401, 403}):
        raise PlatformRefused(reason)
    if code == 1 and _TOO_MUCH in reason:
        raise _TooMuch(reason)
    raise PlatformDown(reason, wait_of(answer), answer.status)


def _regained(usage: str | None) -> float | None:
    """Seconds until a business may ask again: the longest of what the header tells in minutes."""
    try:
        told = json.loads(usage or "{}")
        minutes = [one["estimated_time_to_regain_access"] for limits in told.values() for one in limits]
        return max(minutes, default=0) * 60.0 or None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
