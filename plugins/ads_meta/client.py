"""The Graph API over HTTP, and its errors. The token is sent as a header, because URLs are logged."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from service_core.plugin import Clock, CredentialsRejected, PlatformUnavailable, platform_http

API_URL: Final = "https://graph.facebook.com/v26.0"
TIMEOUT_SECONDS: Final = 60.0
CREDENTIAL_CODES: Final = frozenset({10, 102, 104, 190, 294, *range(200, 300)})
"""Codes of a token that is missing, over, or lacks a permission."""
RETRYABLE_CODES: Final = frozenset({1, 2, 4, 17, 32, 341, 368, 613, *range(80000, 80015)})
"""Codes of too many calls, and of faults of theirs."""


_TOO_MUCH_DATA: Final = "reduce the amount of data"
"""Said with code 1, which means anything else, too."""
_MIN_PAGE_SIZE: Final = 25
"""Rows of a page below which nothing smaller is asked for."""


class _TooMuchData(PlatformUnavailable):
    """The page is too large."""


@asynccontextmanager
async def open_client(base_url: str, secrets: Mapping[str, str], clock: Clock) -> AsyncIterator["MetaClient"]:
    """A few calls on one connection.

    Raises:
        PlatformUnavailable: there is nothing to call with.
        CredentialsRejected: the token is missing.
    """
    platform_http.require_credentials(secrets, ("access_token",))
    headers = {"Authorization": f"Bearer {secrets['access_token']}", "Accept": "application/json"}
    opened = platform_http.open_json_client(
        "Meta", "httpx2", clock, timeout_seconds=TIMEOUT_SECONDS, headers=headers
    )
    async with opened as client:
        yield MetaClient(base_url, client)


@dataclass(frozen=True, slots=True)
class MetaClient:
    """Requests to the Graph API."""

    api: str
    calls: platform_http.JsonHttpClient

    async def get_page_halving_size_if_too_large(
        self, path: str, params: Mapping[str, str], page_size: int
    ) -> Mapping[str, Any]:
        """Returns a page of an edge. Its size is halved, down to 25, while Meta answers that it is too much data.

        Raises:
            PlatformUnavailable: Meta cannot be read now.
            CredentialsRejected: the token is not good for it.
        """
        while True:
            try:
                return await self._get_json_or_raise_api_error(path, {**params, "limit": str(page_size)})
            except _TooMuchData:
                if page_size <= _MIN_PAGE_SIZE:
                    raise
                page_size //= 2

    async def post_without_status_check(self, path: str, body: Any) -> platform_http.JsonResponse:
        """Sends a POST request to an edge and returns the response, whatever its status.

        Raises:
            PlatformUnavailable: there was no answer.
        """
        return await self.calls.post_json(f"{self.api}/{path}", body)

    async def _get_json_or_raise_api_error(self, path: str, params: Mapping[str, str]) -> Mapping[str, Any]:
        answer = await self.calls.request_json("GET", f"{self.api}/{path}", params=params)
        payload: Mapping[str, Any] = answer.require_json()
        if "error" in payload or not answer.is_success:
            _raise_api_error(answer, payload.get("error") or {})
        return payload


def retry_delay_seconds(answer: platform_http.JsonResponse) -> float | None:
    """Returns the seconds to wait: of the header ``Retry-After``, else of the usage header."""
    return answer.retry_after or _longest_usage_delay_seconds(answer.headers.get("x-business-use-case-usage"))


def _raise_api_error(response: platform_http.JsonResponse, error: Mapping[str, Any]) -> NoReturn:
    """Raises the error for a code and status of the Graph API."""
    code = error.get("code")
    reason = f"Meta says: {error.get('message') or f'status {response.status}'}"
    known = code in RETRYABLE_CODES or code in CREDENTIAL_CODES
    if code in CREDENTIAL_CODES or (not known and response.status in {401, 403}):
        raise CredentialsRejected(reason)
    if code == 1 and _TOO_MUCH_DATA in reason:
        raise _TooMuchData(reason)
    raise PlatformUnavailable(reason, retry_delay_seconds(response), response.status)


def _longest_usage_delay_seconds(usage_header: str | None) -> float | None:
    """Returns the longest wait of the usage header in seconds (the header has minutes); None if it has none."""
    try:
        usage_by_business = json.loads(usage_header or "{}")
        minutes = [
            limit["estimated_time_to_regain_access"]
            for limits in usage_by_business.values()
            for limit in limits
        ]
        return max(minutes, default=0) * 60.0 or None
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
