"""The Conversions API over HTTP."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Final

from service_core.plugin import Clock, platform_calls

API: Final = "https://bzr.openai.com/v1"
SECONDS: Final = 25.0


@asynccontextmanager
async def opened(secrets: Mapping[str, str], clock: Clock) -> AsyncIterator[platform_calls.JsonCalls]:
    """A few calls on one connection.

    Raises:
        PlatformDown: there is nothing to call with.
        PlatformRefused: the key is missing.
    """
    platform_calls.require(secrets, ("api_key",))
    with platform_calls.http_client("OpenAI"):
        import httpx2  # noqa: PLC0415 - 20 MB that only a call needs
    headers = {"Authorization": f"Bearer {secrets['api_key']}", "Accept": "application/json"}
    async with httpx2.AsyncClient(headers=headers, timeout=SECONDS, verify=_trust()) as http:
        yield platform_calls.JsonCalls("OpenAI", http.request, httpx2.HTTPError, clock)


@cache
def _trust() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a call."""
    import httpx2  # noqa: PLC0415 - as above

    return httpx2.create_ssl_context()
