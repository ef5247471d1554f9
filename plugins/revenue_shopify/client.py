"""The REST Admin API of one shop, and its errors."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from service_core.plugin import Clock, CredentialsRejected, PlatformUnavailable, PollRequest, platform_http

TOKEN_NAME: Final = "access_token"  # noqa: S105 - the name of a credential
SHOP_PLACEHOLDER: Final = "{shop}"
"""Placeholder for the shop's name in the address of the API."""

_TIMEOUT_SECONDS: Final = 60.0
_MAX_WAIT_SECONDS: Final = 10.0
"""Seconds that are waited here when the shop asks for it, which it does after some forty calls."""
_MAX_ATTEMPTS: Final = 5
_REJECTED_STATUSES: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
_SHOP_DOMAIN: Final = re.compile(r"[a-z0-9][a-z0-9-]*\.myshopify\.com")
_NEXT_LINK: Final = re.compile(r'<([^>]*)>;\s*rel="?next"?')


@dataclass(frozen=True, slots=True)
class ShopClient:
    """Requests to the API of one shop."""

    api: str
    calls: platform_http.JsonHttpClient

    async def iterate_pages(
        self, path: str, params: Mapping[str, Any]
    ) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yields every page of a list. The URL of the next page is not followed; only its ``page_info`` is used."""
        while True:
            answer = await self._get_waiting_out_short_rate_limits(path, params)
            yield _object_or_raise_api_error(answer)
            place = _next_page_info(answer.headers.get("link", ""))
            if place is None:
                return
            params = {"limit": params["limit"], "page_info": place}

    async def get_or_empty_if_missing(self, path: str) -> Mapping[str, Any]:
        """Returns an object; empty if it does not exist any more.

        Raises:
            PlatformUnavailable: the shop cannot be read now.
            CredentialsRejected: the token is not good for it.
        """
        answer = await self._get_waiting_out_short_rate_limits(path, {})
        return {} if answer.status == HTTPStatus.NOT_FOUND else _object_or_raise_api_error(answer)

    async def _get_waiting_out_short_rate_limits(
        self, path: str, params: Mapping[str, Any]
    ) -> platform_http.JsonResponse:
        """Returns the response. Status 429 is retried up to 4 times if the requested wait is at most 10 seconds."""
        for _ in range(_MAX_ATTEMPTS):
            answer = await self.calls.request_json("GET", f"{self.api}/{path}", params=params)
            wait = answer.retry_after
            if answer.status != HTTPStatus.TOO_MANY_REQUESTS or wait is None or wait > _MAX_WAIT_SECONDS:
                break
            await asyncio.sleep(wait)
        return answer


@asynccontextmanager
async def open_client_of_only_shop(
    base_url_template: str, request: PollRequest, clock: Clock
) -> AsyncIterator[ShopClient]:
    """Yields a client of the shop that is the account of the connection.

    Raises:
        PlatformUnavailable: there is nothing to call with.
        CredentialsRejected: a credential is missing, or the connection does not name exactly one shop.
    """
    platform_http.require_credentials(request.secrets, (TOKEN_NAME,))
    shops = [name for name in request.accounts if _SHOP_DOMAIN.fullmatch(name)]
    if len(shops) != 1:
        raise CredentialsRejected(
            "Note the shop as the account of the connection, such as example.myshopify.com."
        )
    headers = {"X-Shopify-Access-Token": request.secrets[TOKEN_NAME]}
    opened = platform_http.open_json_client(
        "Shopify", "httpx2", clock, timeout_seconds=_TIMEOUT_SECONDS, headers=headers
    )
    async with opened as client:
        yield ShopClient(base_url_template.replace(SHOP_PLACEHOLDER, shops[0]), client)


def _object_or_raise_api_error(response: platform_http.JsonResponse) -> Mapping[str, Any]:
    payload = response.require_json()
    if response.is_success and isinstance(payload, dict):
        return payload
    errors = payload.get("errors") if isinstance(payload, dict) else None
    reason = f"Shopify says: {errors or f'status {response.status}'}"
    if response.status in _REJECTED_STATUSES:
        raise CredentialsRejected(reason)
    raise PlatformUnavailable(reason, response.retry_after, response.status)


def _next_page_info(link_header: str) -> str | None:
    """Returns the ``page_info`` of the next page; None if the header names none."""
    named = _NEXT_LINK.search(link_header)
    places = parse_qs(urlsplit(named[1]).query).get("page_info") if named else None
    return places[0] if places else None
