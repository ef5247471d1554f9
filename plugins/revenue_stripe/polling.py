"""Polls the events that Stripe keeps for 30 days, under the ids of their webhooks."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

from plugins.revenue_stripe.mapping import MAPPERS_BY_TYPE
from service_core.plugin import (
    Clock,
    CredentialsRejected,
    PlatformUnavailable,
    PolledMessage,
    PollRequest,
    platform_http,
)

API_KEY_NAME: Final = "api_key"
"""Name of the credential: a restricted key that may read events, or a secret key."""

_TIMEOUT_SECONDS: Final = 60.0
_PAGE_SIZE: Final = 100
_REJECTED_STATUSES: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


async def poll_mapped_events_latest_first(
    base_url: str, request: PollRequest, clock: Clock
) -> AsyncGenerator[Sequence[PolledMessage], None]:
    """Yields the events of every mapped type, latest first; they may have been processed before.

    Raises:
        PlatformUnavailable: Stripe cannot be read now.
        CredentialsRejected: the key is not good, or may not read events.
    """
    params: dict[str, Any] = {
        "limit": _PAGE_SIZE,
        "types[]": sorted(MAPPERS_BY_TYPE.keys() - set(request.excluded_kinds)),
    }
    if request.since is not None:
        params["created[gte]"] = int(request.since.timestamp())
    async with _open_client(request.secrets, clock) as calls:
        while True:
            answer = await calls.request_json("GET", f"{base_url}/events", params=params)
            events, has_more = _parse_event_page_or_raise(answer)
            yield [PolledMessage(json.dumps(event, default=str).encode()) for event in events]
            if not has_more or not events:
                return
            params["starting_after"] = events[-1]["id"]


@asynccontextmanager
async def _open_client(
    secrets: Mapping[str, str], clock: Clock
) -> AsyncIterator[platform_http.JsonHttpClient]:
    platform_http.require_credentials(secrets, (API_KEY_NAME,))
    headers = {"Authorization": f"Bearer {secrets[API_KEY_NAME]}"}
    opened = platform_http.open_json_client(
        "Stripe", "httpx2", clock, timeout_seconds=_TIMEOUT_SECONDS, headers=headers
    )
    async with opened as client:
        yield client


def _parse_event_page_or_raise(
    response: platform_http.JsonResponse,
) -> tuple[Sequence[Mapping[str, Any]], bool]:
    """Returns the events of a page and whether there are more; raises for an error response."""
    payload = response.require_json()
    if response.is_success:
        try:
            events, has_more = (
                [event for event in payload["data"] if event["id"]],
                payload["has_more"] is True,
            )
        except (KeyError, TypeError):
            raise PlatformUnavailable("Stripe answers something else than a list of events.") from None
        return events, has_more
    error = payload.get("error") if isinstance(payload, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    reason = f"Stripe says: {message or f'status {response.status}'}"
    if response.status in _REJECTED_STATUSES:
        raise CredentialsRejected(reason)
    raise PlatformUnavailable(reason, response.retry_after, response.status)
