"""The events Stripe keeps for 30 days, asked for: each is what its webhook sends, under the same id."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

from plugins.revenue_stripe.mapping import KINDS
from service_core.plugin import (
    Clock,
    PlatformDown,
    PlatformRefused,
    Poll,
    ProviderMessage,
    platform_calls,
)

KEY: Final = "api_key"
"""Name of the credential: a restricted key that may read events, or a secret key."""

_SECONDS: Final = 60.0
_PAGE: Final = 100
_REFUSALS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


async def events(api: str, poll: Poll, clock: Clock) -> AsyncGenerator[Sequence[ProviderMessage], None]:
    """The events of every kind that is mapped, the latest first.

    Raises:
        PlatformDown: Stripe cannot be read now.
        PlatformRefused: the key is not good, or may not read events.
    """
    question: dict[str, Any] = {"limit": _PAGE, "types[]": sorted(KINDS.keys() - set(poll.left_out))}
    if poll.since is not None:
        question["created[gte]"] = int(poll.since.timestamp())
    async with _opened(poll.secrets, clock) as calls:
        while True:
            answer = await calls.ask("GET", f"{api}/events", params=question)
            found, more = _page(answer)
            yield [ProviderMessage(json.dumps(event, default=str).encode()) for event in found]
            if not more or not found:
                return
            question["starting_after"] = found[-1]["id"]


@asynccontextmanager
async def _opened(secrets: Mapping[str, str], clock: Clock) -> AsyncIterator[platform_calls.JsonCalls]:
    platform_calls.require(secrets, (KEY,))
    with platform_calls.http_client("Stripe"):
        import httpx2  # noqa: PLC0415 - 20 MB that only a call needs
    headers = {"Authorization": f"Bearer {secrets[KEY]}"}
    async with httpx2.AsyncClient(headers=headers, timeout=_SECONDS) as http:
        yield platform_calls.JsonCalls("Stripe", http.request, httpx2.HTTPError, clock)


def _page(answer: platform_calls.JsonAnswer) -> tuple[Sequence[Mapping[str, Any]], bool]:
    """The events of an answer, and whether there are more."""
    told = answer.content()
    if answer.is_good:
        try:
            found, more = [event for event in told["data"] if event["id"]], told["has_more"] is True
        except (KeyError, TypeError):
            raise PlatformDown("Stripe answers something else than a list of events.") from None
        return found, more
    error = told.get("error") if isinstance(told, dict) else None
    said = error.get("message") if isinstance(error, dict) else None
    reason = f"Stripe says: {said or f'status {answer.status}'}"
    if answer.status in _REFUSALS:
        raise PlatformRefused(reason)
    raise PlatformDown(reason, answer.retry_after, answer.status)
