"""The Conversions API over HTTP."""

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Final

from service_core.plugin import Clock, platform_http

API_URL: Final = "https://bzr.openai.com/v1"
TIMEOUT_SECONDS: Final = 25.0


@asynccontextmanager
async def open_client(
    secrets: Mapping[str, str], clock: Clock
) -> AsyncIterator[platform_http.JsonHttpClient]:
    """A few calls on one connection.

    Raises:
        PlatformUnavailable: there is nothing to call with.
        CredentialsRejected: the key is missing.
    """
    platform_http.require_credentials(secrets, ("api_key",))
    with platform_http.require_http_client("OpenAI"):
        import httpx2  # noqa: PLC0415 - 20 MB that only a call needs
    headers = {"Authorization": f"Bearer {secrets['api_key']}", "Accept": "application/json"}
    async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS, verify=_ssl_context()) as http:
        yield platform_http.JsonHttpClient("OpenAI", http.request, httpx2.HTTPError, clock)


@cache
def _ssl_context() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a call."""
    import httpx2  # noqa: PLC0415 - as above

    return httpx2.create_ssl_context()
