"""Polls the orders of a shop, as the webhooks that would have reported them, and what payouts kept of them.

An order is listed as it stands now, with its refunds; a webhook tells it as it stood then. Money and ids
are the same. Its transactions say when it was paid; they are requested only if no webhook came.
"""

import json
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from plugins.revenue_shopify.client import ShopClient, open_client_of_only_shop
from plugins.revenue_shopify.fees import (
    BALANCE_TRANSACTION_TOPIC,
    processing_time,
    reports_fee_of_order,
)
from plugins.revenue_shopify.mapping import PAID_STATUSES, map_message
from plugins.revenue_shopify.webhook_headers import TOPIC_HEADER
from service_core.plugin import (
    Clock,
    CredentialsRejected,
    MessageFields,
    PlatformUnavailable,
    PolledMessage,
    PollRequest,
    WebhookDelivery,
)

ORDERS_PAID: Final = "orders/paid"
_FEES_PATH: Final = "shopify_payments/balance/transactions.json"
_FIRST_FEES: Final = timedelta(days=60)
"""How far back a first sync reads fees: as far as an app may read orders."""
_LATE_FEES: Final = timedelta(days=7)
"""A transaction may be listed some days after it was processed."""
_PAGE_SIZE: Final = 250
_ORDERS_PER_BATCH: Final = 50
"""Orders of one page: each may need a request of its own."""
_log: Final = logging.getLogger("touchpoint.sync")
_PAYMENT_KINDS: Final = frozenset({"sale", "capture"})


class _MissedWebhook(NamedTuple):
    """A webhook that an order implies; the message id is None if the order cannot be mapped."""

    topic: str
    body: Mapping[str, Any]
    message_id: str | None


async def poll_changed_orders(
    base_url_template: str, request: PollRequest, clock: Clock
) -> AsyncGenerator[Sequence[PolledMessage], None]:
    """Yields the messages of changed orders that were not processed yet: paid, fulfilled, cancelled and refunded; then fees.

    A shop without Shopify Payments, or a token that may not read payouts, gives no fees: they stay unknown.

    Raises:
        PlatformUnavailable: the shop cannot be read now.
        CredentialsRejected: the token is not good, or may not read orders.
    """
    params: dict[str, Any] = {"limit": _PAGE_SIZE, "status": "any"}
    if request.since is not None:
        params["updated_at_min"] = request.since.isoformat()
    now = clock()
    async with open_client_of_only_shop(base_url_template, request, clock) as client:
        async with aclosing(client.iterate_pages("orders.json", params)) as pages:
            async for page in pages:
                listed = _listed_objects(page, "orders")
                for start in range(0, len(listed), _ORDERS_PER_BATCH):
                    yield await _unprocessed_messages_of_orders(
                        client, listed[start : start + _ORDERS_PER_BATCH], request, now
                    )
        if BALANCE_TRANSACTION_TOPIC in request.excluded_kinds:
            return
        since = (request.since or now - _FIRST_FEES) - _LATE_FEES
        try:
            async with aclosing(_fees_processed_since(client, since)) as fees:
                async for messages in fees:
                    yield messages
        except CredentialsRejected as refusal:
            _log.info("no fees of payouts are read: %s", refusal)


async def _fees_processed_since(
    client: ShopClient, since: datetime
) -> AsyncGenerator[Sequence[PolledMessage], None]:
    """Yields the fees of orders, the latest first, until one was processed before a time."""
    async with aclosing(client.iterate_pages(_FEES_PATH, {"limit": _PAGE_SIZE})) as pages:
        async for page in pages:
            listed = [MessageFields(one) for one in _listed_objects(page, "transactions")]
            recent = [one for one in listed if (processing_time(one) or since) >= since]
            yield [
                PolledMessage(
                    json.dumps(one.values, default=str).encode(), {TOPIC_HEADER: BALANCE_TRANSACTION_TOPIC}
                )
                for one in recent
                if reports_fee_of_order(one)
            ]
            if len(recent) < len(listed):
                return


def _listed_objects(page: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    listed = page.get(name)
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise PlatformUnavailable(f"Shopify answers something else than a list of {name}.")
    return listed


async def _unprocessed_messages_of_orders(
    client: ShopClient, orders: Sequence[Mapping[str, Any]], request: PollRequest, now: datetime
) -> list[PolledMessage]:
    """Returns the messages of some orders that were not processed yet."""
    missed = [
        _MissedWebhook(topic, body, _message_id_or_none(topic, body, now))
        for order in orders
        for topic, body in _webhooks_implied_by_order_state(order)
        if topic not in request.excluded_kinds
    ]
    processed = await request.processed_ids(
        {webhook.message_id for webhook in missed if webhook.message_id is not None}
    )
    return [
        await _polled_message_with_payment_time(client, webhook)
        for webhook in missed
        if webhook.message_id not in processed
    ]


def _webhooks_implied_by_order_state(order: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields topic and body of the webhooks that the present state of an order implies."""
    fields = MessageFields(order)
    if fields.text("financial_status") in PAID_STATUSES:
        yield ORDERS_PAID, order
    if fields.text("cancelled_at") is not None:
        yield "orders/cancelled", order
    if fields.text("fulfillment_status") == "fulfilled":
        yield (
            "orders/fulfilled",
            {**order, "updated_at": _last_fulfillment_time(fields) or order.get("updated_at")},
        )
    for refund in fields.objects("refunds"):
        yield "refunds/create", refund.values


def _message_id_or_none(topic: str, body: Mapping[str, Any], now: datetime) -> str | None:
    try:
        return map_message(body, WebhookDelivery({TOPIC_HEADER: topic}, b"", now)).message_id
    except ValueError:
        return None


async def _polled_message_with_payment_time(
    client: ShopClient, missed_webhook: _MissedWebhook
) -> PolledMessage:
    body = missed_webhook.body
    if missed_webhook.topic == ORDERS_PAID and missed_webhook.message_id is not None:
        body = {**body, "updated_at": await _last_payment_or_order_time(client, MessageFields(body))}
    return PolledMessage(json.dumps(body, default=str).encode(), {TOPIC_HEADER: missed_webhook.topic})


async def _last_payment_or_order_time(client: ShopClient, order: MessageFields) -> str | None:
    """Returns the time of the last successful payment; of a free order the time when it was placed."""
    payload = MessageFields(
        await client.get_or_empty_if_missing(f"orders/{order.required_text('id')}/transactions.json")
    )
    paid = [
        at
        for transaction in payload.objects("transactions")
        if transaction.text("kind") in _PAYMENT_KINDS and transaction.text("status") == "success"
        if (
            at := transaction.iso_datetime_with_offset("processed_at")
            or transaction.iso_datetime_with_offset("created_at")
        )
    ]
    if paid:
        return max(paid).isoformat()
    return order.text("processed_at") or order.text("created_at") or order.text("updated_at")


def _last_fulfillment_time(order: MessageFields) -> str | None:
    """Returns the time of the last fulfillment; None without any."""
    sent = [
        at
        for fulfillment in order.objects("fulfillments")
        if (at := fulfillment.iso_datetime_with_offset("created_at"))
    ]
    return max(sent).isoformat() if sent else None
