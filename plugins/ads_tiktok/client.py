"""The Business API over HTTP: its answers have a status of their own, beside that of HTTP."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from service_core.plugin import Clock, PlatformDown, PlatformRefused, platform_calls

API: Final = "https://business-api.tiktok.com/open_api/v1.3"
SECONDS: Final = 60.0
CREDENTIALS: Final = frozenset({40001, *range(40101, 40120)})
"""Codes of an app or a token that is not good, or not for this advertiser; 40100 is too many calls."""


@asynccontextmanager
async def opened(api: str, secrets: Mapping[str, str], clock: Clock) -> AsyncIterator["TikTokClient"]:
    """A few calls on one connection.

    Raises:
        PlatformDown: there is nothing to call with.
        PlatformRefused: the token is missing.
    """
    platform_calls.require(secrets, ("access_token",))
    with platform_calls.http_client("TikTok"):
        import httpx2  # noqa: PLC0415 - 20 MB that only a call needs
    headers = {"Access-Token": secrets["access_token"], "Accept": "application/json"}
    async with httpx2.AsyncClient(headers=headers, timeout=SECONDS, verify=_trust()) as http:
        yield TikTokClient(api, platform_calls.JsonCalls("TikTok", http.request, httpx2.HTTPError, clock))


@cache
def _trust() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a question."""
    import httpx2  # noqa: PLC0415 - as above

    return httpx2.create_ssl_context()


@dataclass(frozen=True, slots=True)
class TikTokClient:
    """What can be asked of the Business API."""

    api: str
    calls: platform_calls.JsonCalls

    async def get(self, path: str, question: Mapping[str, str]) -> Mapping[str, Any]:
        """What an answer holds.

        Raises:
            PlatformDown: TikTok cannot be read now.
            PlatformRefused: the credentials are not good for it.
        """
        answer = await self.calls.ask("GET", f"{self.api}/{path}", params=question)
        told = answer.content()
        code = told.get("code")
        if code == 0 and answer.is_good:
            held: Mapping[str, Any] = told["data"]
            return held
        reason = f"TikTok says: {told.get('message') or f'status {answer.status}'}"
        if code in CREDENTIALS or answer.status in {401, 403}:
            raise PlatformRefused(reason)
        raise PlatformDown(reason, answer.retry_after, answer.status)

    async def post(self, path: str, body: Any) -> platform_calls.JsonAnswer:
        """Send something; the answer is not judged.

        Raises:
            PlatformDown: there was no answer.
        """
        return await self.calls.post(f"{self.api}/{path}", body)
