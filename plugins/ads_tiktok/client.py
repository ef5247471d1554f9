"""The Business API over HTTP. Its responses have a status code of their own."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from service_core.plugin import Clock, CredentialsRejected, PlatformUnavailable, platform_http

API_URL: Final = "https://business-api.tiktok.com/open_api/v1.3"
TIMEOUT_SECONDS: Final = 60.0
CREDENTIAL_CODES: Final = frozenset({40001, *range(40101, 40120)})
"""Codes of an app or a token that is not good, or not for this advertiser; 40100 is too many calls."""


@asynccontextmanager
async def open_client(
    base_url: str, secrets: Mapping[str, str], clock: Clock
) -> AsyncIterator["TikTokClient"]:
    """A few calls on one connection.

    Raises:
        PlatformUnavailable: there is nothing to call with.
        CredentialsRejected: the token is missing.
    """
    platform_http.require_credentials(secrets, ("access_token",))
    headers = {"Access-Token": secrets["access_token"], "Accept": "application/json"}
    opened = platform_http.open_json_client(
        "TikTok", "httpx2", clock, timeout_seconds=TIMEOUT_SECONDS, headers=headers
    )
    async with opened as client:
        yield TikTokClient(base_url, client)


@dataclass(frozen=True, slots=True)
class TikTokClient:
    """Requests to the Business API."""

    api: str
    calls: platform_http.JsonHttpClient

    async def get_data_or_raise_api_error(self, path: str, params: Mapping[str, str]) -> Mapping[str, Any]:
        """Returns the ``data`` of a successful response.

        Raises:
            PlatformUnavailable: TikTok cannot be read now.
            CredentialsRejected: the credentials are not good for it.
        """
        answer = await self.calls.request_json("GET", f"{self.api}/{path}", params=params)
        payload = answer.require_json()
        code = payload.get("code")
        if code == 0 and answer.is_success:
            data: Mapping[str, Any] = payload["data"]
            return data
        reason = f"TikTok says: {payload.get('message') or f'status {answer.status}'}"
        if code in CREDENTIAL_CODES or answer.status in {401, 403}:
            raise CredentialsRejected(reason)
        raise PlatformUnavailable(reason, answer.retry_after, answer.status)

    async def post_without_status_check(self, path: str, body: Any) -> platform_http.JsonResponse:
        """Sends a POST request and returns the response, whatever its status.

        Raises:
            PlatformUnavailable: there was no answer.
        """
        return await self.calls.post_json(f"{self.api}/{path}", body)
