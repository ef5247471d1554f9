"""Polls the events that Stripe keeps for 30 days, under the ids of their webhooks, and the fees of charges."""

import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any, Final

from plugins.revenue_stripe.fees import BALANCE_TRANSACTION, reports_fee_of_charge
from plugins.revenue_stripe.mapping import MAPPERS_BY_TYPE
from service_core.plugin import (
    Clock,
    CredentialsRejected,
    MessageFields,
    PlatformUnavailable,
    PolledMessage,
    PollRequest,
    platform_http,
)

API_KEY_NAME: Final = "api_key"
"""Name of the credential: a restricted key that may read events, or a secret key."""

EVENT_RETENTION: Final = timedelta(days=30)
"""How long Stripe keeps events; a first sync reads fees as far back."""

_FEE_EXPANSIONS: Final = (("data.source", "data.source.charge"), ("data.source",))
"""Objects to list with each balance transaction, by preference."""
_TIMEOUT_SECONDS: Final = 60.0
_PAGE_SIZE: Final = 100
_log: Final = logging.getLogger("touchpoint.sync")
_REJECTED_STATUSES: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


async def poll_mapped_events_latest_first(
    base_url: str, request: PollRequest, clock: Clock
) -> AsyncGenerator[Sequence[PolledMessage], None]:
    """Yields the events of every mapped type, latest first, then the balance transactions; all may have been processed before.

    A key that may not read balance transactions gives none: fees stay unknown.

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
        async with aclosing(_iterate_pages(calls, f"{base_url}/events", params)) as pages:
            async for events in pages:
                yield _to_messages(events)
        if BALANCE_TRANSACTION in request.excluded_kinds:
            return
        since = request.since or clock() - EVENT_RETENTION
        async with aclosing(_iterate_fee_pages(calls, base_url, since)) as pages:
            async for transactions in pages:
                yield _to_messages(transactions)


async def _iterate_fee_pages(
    calls: platform_http.JsonHttpClient, base_url: str, since: datetime
) -> AsyncGenerator[Sequence[Mapping[str, Any]], None]:
    """Yields the balance transactions with fees of charges; none for a key that may not read them.

    Where Stripe refuses to expand the charges of refunds and disputes, they are listed without.

    Raises:
        PlatformUnavailable: Stripe cannot be read now.
    """
    for expanded in _FEE_EXPANSIONS:
        params = {"limit": _PAGE_SIZE, "created[gte]": int(since.timestamp()), "expand[]": [*expanded]}
        try:
            async with aclosing(_iterate_pages(calls, f"{base_url}/balance_transactions", params)) as pages:
                async for page in pages:
                    yield [one for one in page if reports_fee_of_charge(MessageFields(one))]
        except CredentialsRejected as refusal:
            _log.warning("fees are not read, the key may not: %s", refusal)
        except PlatformUnavailable as refusal:
            if refusal.http_status != HTTPStatus.BAD_REQUEST or expanded is _FEE_EXPANSIONS[-1]:
                raise
            continue
        return


async def _iterate_pages(
    calls: platform_http.JsonHttpClient, url: str, first_params: Mapping[str, Any]
) -> AsyncGenerator[Sequence[Mapping[str, Any]], None]:
    """Yields the pages of a list, latest first.

    Raises:
        PlatformUnavailable: Stripe cannot be read now.
        CredentialsRejected: the key may not read it.
    """
    params = dict(first_params)
    while True:
        objects, has_more = _parse_page_or_raise(await calls.request_json("GET", url, params=params))
        yield objects
        if not has_more or not objects:
            return
        params["starting_after"] = objects[-1]["id"]


def _to_messages(objects: Sequence[Mapping[str, Any]]) -> list[PolledMessage]:
    return [PolledMessage(json.dumps(one, default=str).encode()) for one in objects]


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


def _parse_page_or_raise(
    response: platform_http.JsonResponse,
) -> tuple[Sequence[Mapping[str, Any]], bool]:
    """Returns the objects of a page and whether there are more; raises for an error response."""
    payload = response.require_json()
    if response.is_success:
        try:
            objects, has_more = [one for one in payload["data"] if one["id"]], payload["has_more"] is True
        except (KeyError, TypeError):
            raise PlatformUnavailable("Stripe answers something else than a list.") from None
        return objects, has_more
    error = payload.get("error") if isinstance(payload, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    reason = f"Stripe says: {message or f'status {response.status}'}"
    if response.status in _REJECTED_STATUSES:
        raise CredentialsRejected(reason)
    raise PlatformUnavailable(reason, response.retry_after, response.status)
