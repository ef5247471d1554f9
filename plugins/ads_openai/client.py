"""The Conversions API over HTTP."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
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
    headers = {"Authorization": f"Bearer {secrets['api_key']}", "Accept": "application/json"}
    opened = platform_http.open_json_client(
        "OpenAI", "httpx2", clock, timeout_seconds=TIMEOUT_SECONDS, headers=headers
    )
    async with opened as client:
        yield client
