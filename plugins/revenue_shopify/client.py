"""The REST Admin API of one shop, and what its refusals mean."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from service_core.plugin import Clock, PlatformDown, PlatformRefused, Poll, platform_calls

TOKEN: Final = "access_token"  # noqa: S105 - the name of a credential
SHOP: Final = "{shop}"
"""Where the name of the shop stands in the address of the API."""

_SECONDS: Final = 60.0
_PATIENCE: Final = 10.0
"""Seconds that are waited here when the shop asks for it, which it does after some forty calls."""
_TRIES: Final = 5
_REFUSALS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*\.myshopify\.com")
_NEXT: Final = re.compile(r'<([^>]*)>;\s*rel="?next"?')


@dataclass(frozen=True, slots=True)
class ShopClient:
    """What can be asked of a shop."""

    api: str
    calls: platform_calls.JsonCalls

    async def pages(self, path: str, question: Mapping[str, Any]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Every page of a list; the address of the next one is never followed, but for its place."""
        while True:
            answer = await self._ask(path, question)
            yield _content(answer)
            place = _next(answer.headers.get("link", ""))
            if place is None:
                return
            question = {"limit": question["limit"], "page_info": place}

    async def get(self, path: str) -> Mapping[str, Any]:
        """One thing; nothing of it when it is gone.

        Raises:
            PlatformDown: the shop cannot be read now.
            PlatformRefused: the token is not good for it.
        """
        answer = await self._ask(path, {})
        return {} if answer.status == HTTPStatus.NOT_FOUND else _content(answer)

    async def _ask(self, path: str, question: Mapping[str, Any]) -> platform_calls.JsonAnswer:
        """An answer, after the waits a shop asks for while they are short."""
        for _ in range(_TRIES):
            answer = await self.calls.ask("GET", f"{self.api}/{path}", params=question)
            wait = answer.retry_after
            if answer.status != HTTPStatus.TOO_MANY_REQUESTS or wait is None or wait > _PATIENCE:
                break
            await asyncio.sleep(wait)
        return answer


@asynccontextmanager
async def opened(api: str, poll: Poll, clock: Clock) -> AsyncIterator[ShopClient]:
    """A few calls to the shop that the connection notes as its account.

    Raises:
        PlatformDown: there is nothing to call with.
        PlatformRefused: no shop is noted, or something that is none.
    """
    platform_calls.require(poll.secrets, (TOKEN,))
    shops = [name for name in poll.accounts if _NAME.fullmatch(name)]
    if len(shops) != 1:
        raise PlatformRefused(
            "Note the shop as the account of the connection, such as example.myshopify.com."
        )
    with platform_calls.http_client("Shopify"):
        import httpx2  # noqa: PLC0415 - 20 MB that only a call needs
    headers = {"X-Shopify-Access-Token": poll.secrets[TOKEN]}
    async with httpx2.AsyncClient(headers=headers, timeout=_SECONDS) as http:
        calls = platform_calls.JsonCalls("Shopify", http.request, httpx2.HTTPError, clock)
        yield ShopClient(api.replace(SHOP, shops[0]), calls)


def _content(answer: platform_calls.JsonAnswer) -> Mapping[str, Any]:
    told = answer.content()
    if answer.is_good and isinstance(told, dict):
        return told
    said = told.get("errors") if isinstance(told, dict) else None
    reason = f"Shopify says: {said or f'status {answer.status}'}"
    if answer.status in _REFUSALS:
        raise PlatformRefused(reason)
    raise PlatformDown(reason, answer.retry_after, answer.status)


def _next(link: str) -> str | None:
    """The place of the next page, of a header that names it."""
    named = _NEXT.search(link)
    places = parse_qs(urlsplit(named[1]).query).get("page_info") if named else None
    return places[0] if places else None
