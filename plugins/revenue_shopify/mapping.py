"""A message of Shopify as what it says. Pure.

Only the body is signed, so a message is known by what stands there: its id by that of the order,
refund, checkout or customer, and a topic counts only where the body agrees. Whoever caught a message
can send it again, but not as another one.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from plugins.revenue_shopify.amounts import (
    order_amounts_net_of_tax_and_shipping,
    refund_amounts_as_negative_revenue,
)
from plugins.revenue_shopify.fees import BALANCE_TRANSACTION_TOPIC, map_balance_transaction
from plugins.revenue_shopify.line_items import order_items_at_undiscounted_price, refunded_items_without_price
from plugins.revenue_shopify.webhook_headers import TOPIC_HEADER
from service_core.plugin import MappedMessage, MessageFields, WebhookDelivery

PROVIDER: Final = "shopify"
VISITOR_ATTRIBUTE: Final = "_touchpoint_visitor_id"
"""Attribute of a cart that carries the visitor's id."""

ORDER_NAMESPACE: Final = "shopify_order"
CHECKOUT_NAMESPACE: Final = "shopify_checkout"
"""Namespaces of ids of orders and checkouts: all events of one belong to one person."""

PAID_STATUSES: Final = frozenset({"paid", "partially_refunded", "refunded"})
"""Financial status of an order that is paid in full."""


class _EventKind(NamedTuple):
    """Mapping of a topic: the id, the event, and the field with its time."""

    message_id: str
    event_name: str | None
    time_field: str


def map_message(message: Mapping[str, Any], delivery: WebhookDelivery) -> MappedMessage:
    """Returns what a message is mapped to; a topic without a mapper gives a message without event.

    Raises:
        ValueError: it is not what Shopify documents.
    """
    topic = delivery.headers.get(TOPIC_HEADER, "")
    if topic == BALANCE_TRANSACTION_TOPIC:
        return map_balance_transaction(MessageFields(message))
    mapper = MAPPERS_BY_TOPIC.get(topic)
    if mapper is None:
        digest = hashlib.sha256(delivery.body).hexdigest()
        return MappedMessage(f"{topic}_{digest}", None, delivery.received_at.astimezone(UTC))
    return mapper(MessageFields(message))


def map_fully_paid_order(order: MessageFields) -> MappedMessage:
    """Maps an order; raises ValueError unless all of it is paid."""
    if order.text("financial_status") not in PAID_STATUSES:
        raise ValueError("the order is not paid")
    return _map_order_event(
        _EventKind("orders_paid", "order_paid", "updated_at"),
        order,
        _with_items(order_amounts_net_of_tax_and_shipping(order), order_items_at_undiscounted_price(order)),
    )


def map_cancelled_order_without_amounts(order: MessageFields) -> MappedMessage:
    """Maps a cancelled order without amounts; its refunds have messages of their own."""
    reason = order.text("cancel_reason")
    return _map_order_event(
        _EventKind("orders_cancelled", "order_cancelled", "cancelled_at"), order, {"reason": reason}
    )


def map_fulfilled_order(order: MessageFields) -> MappedMessage:
    """Maps an order; raises ValueError unless all of it is fulfilled."""
    if order.text("fulfillment_status") != "fulfilled":
        raise ValueError("the order is not fulfilled")
    return _map_order_event(_EventKind("orders_fulfilled", "order_fulfilled", "updated_at"), order, {})


def map_refund(refund: MessageFields) -> MappedMessage:
    """Maps a refund; it has no amounts when items came back without money."""
    id_, order = refund.required_text("id"), refund.required_text("order_id")
    return _build_message_without_unknown_values(
        _EventKind(f"refunds_create_{id_}", "refund", "created_at"),
        refund,
        {
            **_with_items(refund_amounts_as_negative_revenue(refund), refunded_items_without_price(refund)),
            "order_id": order,
            "refund_id": id_,
        },
        {ORDER_NAMESPACE: order},
        is_test=any(transaction.is_true("test") for transaction in refund.objects("transactions")),
    )


def map_started_checkout(checkout: MessageFields) -> MappedMessage:
    """Maps a started checkout."""
    token = checkout.text("token") or checkout.required_text("id")
    kind = _EventKind(f"checkouts_create_{token}", "checkout_started", "created_at")
    ids = {PROVIDER: checkout.object("customer").text("id"), CHECKOUT_NAMESPACE: token}
    return _build_message_without_unknown_values(kind, checkout, {"checkout_id": token}, ids)


def map_customer_identity(customer: MessageFields) -> MappedMessage:
    """Maps a customer to a message with ids only."""
    id_ = customer.required_text("id")
    kind = _EventKind(f"customers_create_{id_}", None, "created_at")
    return _build_message_without_unknown_values(kind, customer, {}, {PROVIDER: id_})


MAPPERS_BY_TOPIC: Final[Mapping[str, Callable[[MessageFields], MappedMessage]]] = MappingProxyType(
    {
        "checkouts/create": map_started_checkout,
        "customers/create": map_customer_identity,
        "orders/cancelled": map_cancelled_order_without_amounts,
        "orders/fulfilled": map_fulfilled_order,
        "orders/paid": map_fully_paid_order,
        "refunds/create": map_refund,
    }
)
"""The topics to subscribe to."""


def _with_items(properties: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the properties, with items if there are any."""
    return {**properties, "items": items} if items else {**properties}


def _map_order_event(
    event_kind: _EventKind, order: MessageFields, properties: Mapping[str, Any]
) -> MappedMessage:
    id_ = order.required_text("id")
    ids = {
        PROVIDER: order.object("customer").text("id"),
        ORDER_NAMESPACE: id_,
        CHECKOUT_NAMESPACE: order.text("checkout_token"),
    }
    named = {"order_id": id_, "order_name": order.text("name")}
    known = event_kind._replace(message_id=f"{event_kind.message_id}_{id_}")
    return _build_message_without_unknown_values(
        known, order, {**properties, **named}, ids, is_test=order.is_true("test")
    )


def _build_message_without_unknown_values(
    event_kind: _EventKind,
    subject: MessageFields,
    properties: Mapping[str, Any],
    external_ids: Mapping[str, str | None],
    *,
    is_test: bool = False,
) -> MappedMessage:
    at = subject.iso_datetime_with_offset(event_kind.time_field)
    if at is None:
        raise ValueError(f"{event_kind.time_field} is missing")
    return MappedMessage(
        message_id=event_kind.message_id,
        event_name=event_kind.event_name,
        occurred_at=at,
        identity=_visitor_id_and_email(subject),
        properties={name: value for name, value in properties.items() if value is not None},
        external_ids={name: id_ for name, id_ in external_ids.items() if id_ is not None},
        test=is_test,
    )


def _visitor_id_and_email(subject: MessageFields) -> dict[str, str]:
    carried = (
        attribute.text("value")
        for attribute in subject.objects("note_attributes")
        if attribute.text("name") == VISITOR_ATTRIBUTE
    )
    known = {
        "visitor_id": next((id_ for id_ in carried if id_), None),
        "email": subject.text("email")
        or subject.text("contact_email")
        or subject.object("customer").text("email"),
    }
    return {name: id_ for name, id_ in known.items() if id_ is not None}
