"""The orders of a shop, asked for, as the webhooks that would have told of them.

An order is listed as it stands now, with its refunds; a webhook tells it as it stood then. Money and ids
are the same. When it was paid is told by its transactions, which are asked for only where no webhook came.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Final, NamedTuple

from plugins.revenue_shopify.adapter import TOPIC
from plugins.revenue_shopify.client import ShopClient, opened
from plugins.revenue_shopify.mapping import PAID, mapped
from service_core.plugin import Clock, Delivery, MessageFields, PlatformDown, Poll, ProviderMessage

ORDERS_PAID: Final = "orders/paid"
_PAGE: Final = 250
_TOGETHER: Final = 50
"""Orders told of at a time: each may take a question of its own."""
_PAYMENTS: Final = frozenset({"sale", "capture"})


class _Found(NamedTuple):
    """A webhook that would have told of an order; the id of its message is None where it cannot be read."""

    topic: str
    body: Mapping[str, Any]
    message_id: str | None


async def orders(api: str, poll: Poll, clock: Clock) -> AsyncGenerator[Sequence[ProviderMessage], None]:
    """What became of every order that changed: paid, fulfilled, cancelled, given back.

    Raises:
        PlatformDown: the shop cannot be read now.
        PlatformRefused: the token is not good, or may not read orders.
    """
    question: dict[str, Any] = {"limit": _PAGE, "status": "any"}
    if poll.since is not None:
        question["updated_at_min"] = poll.since.isoformat()
    now = clock()
    async with (
        opened(api, poll, clock) as client,
        aclosing(client.pages("orders.json", question)) as pages,
    ):
        async for page in pages:
            listed = page.get("orders")
            if not isinstance(listed, list) or not all(isinstance(order, dict) for order in listed):
                raise PlatformDown("Shopify answers something else than a list of orders.")
            for start in range(0, len(listed), _TOGETHER):
                yield await _told(client, listed[start : start + _TOGETHER], poll, now)


async def _told(
    client: ShopClient, listed: Sequence[Mapping[str, Any]], poll: Poll, now: datetime
) -> list[ProviderMessage]:
    """What is not kept yet of some orders."""
    found = [
        _Found(topic, body, _message_id(topic, body, now))
        for order in listed
        for topic, body in _topics(order)
        if topic not in poll.left_out
    ]
    kept = await poll.kept({each.message_id for each in found if each.message_id is not None})
    return [await _message(client, each) for each in found if each.message_id not in kept]


def _topics(order: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The topics of webhooks that an order as it stands would have caused, each with its body."""
    fields = MessageFields(order)
    if fields.text("financial_status") in PAID:
        yield ORDERS_PAID, order
    if fields.text("cancelled_at") is not None:
        yield "orders/cancelled", order
    if fields.text("fulfillment_status") == "fulfilled":
        yield "orders/fulfilled", {**order, "updated_at": _fulfilled_at(fields) or order.get("updated_at")}
    for refund in fields.inners("refunds"):
        yield "refunds/create", refund.values


def _message_id(topic: str, body: Mapping[str, Any], now: datetime) -> str | None:
    try:
        return mapped(body, Delivery({TOPIC: topic}, b"", now)).message_id
    except ValueError:
        return None


async def _message(client: ShopClient, found: _Found) -> ProviderMessage:
    body = found.body
    if found.topic == ORDERS_PAID and found.message_id is not None:
        body = {**body, "updated_at": await _paid_at(client, MessageFields(body))}
    return ProviderMessage(json.dumps(body, default=str).encode(), {TOPIC: found.topic})


async def _paid_at(client: ShopClient, order: MessageFields) -> str | None:
    """When the last part of an order was paid: its webhook came then. One that cost nothing was as it was placed."""
    told = MessageFields(await client.get(f"orders/{order.required('id')}/transactions.json"))
    paid = [
        at
        for each in told.inners("transactions")
        if each.text("kind") in _PAYMENTS and each.text("status") == "success"
        if (at := each.written_instant("processed_at") or each.written_instant("created_at"))
    ]
    if paid:
        return max(paid).isoformat()
    return order.text("processed_at") or order.text("created_at") or order.text("updated_at")


def _fulfilled_at(order: MessageFields) -> str | None:
    """When the last part of an order was sent."""
    sent = [at for each in order.inners("fulfillments") if (at := each.written_instant("created_at"))]
    return max(sent).isoformat() if sent else None
