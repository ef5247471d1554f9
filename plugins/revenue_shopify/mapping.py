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

from plugins.revenue_shopify.adapter import TOPIC
from plugins.revenue_shopify.amounts import order_amounts, refund_amounts
from plugins.revenue_shopify.lines import ordered, returned
from service_core.plugin import Delivery, Mapped, MessageFields

PROVIDER: Final = "shopify"
VISITOR: Final = "_touchpoint_visitor_id"
"""Attribute of a cart that carries the visitor's id."""

ORDER: Final = "shopify_order"
CHECKOUT: Final = "shopify_checkout"
"""Namespaces of ids of orders and checkouts: all that is told of one is of one person."""

PAID: Final = frozenset({"paid", "partially_refunded", "refunded"})
"""How the money of an order stands once all of it was paid."""


class _Kind(NamedTuple):
    """What a message is: its id, its event, and the field that says when it happened."""

    message_id: str
    event_name: str | None
    when: str


def mapped(message: Mapping[str, Any], delivery: Delivery) -> Mapped:
    """What a message says.

    Raises:
        ValueError: it is not what Shopify documents.
    """
    topic = delivery.headers.get(TOPIC, "")
    read = TOPICS.get(topic)
    if read is None:
        digest = hashlib.sha256(delivery.body).hexdigest()
        return Mapped(f"{topic}_{digest}", None, delivery.received_at.astimezone(UTC))
    return read(MessageFields(message))


def order_paid(order: MessageFields) -> Mapped:
    """An order when all of it is paid."""
    if order.text("financial_status") not in PAID:
        raise ValueError("the order is not paid")
    return _of_order(
        _Kind("orders_paid", "order_paid", "updated_at"),
        order,
        _listing(order_amounts(order), ordered(order)),
    )


def order_cancelled(order: MessageFields) -> Mapped:
    """A cancelled order; what is given back for it is told by its refunds."""
    reason = order.text("cancel_reason")
    return _of_order(_Kind("orders_cancelled", "order_cancelled", "cancelled_at"), order, {"reason": reason})


def order_fulfilled(order: MessageFields) -> Mapped:
    """An order of which everything is sent."""
    if order.text("fulfillment_status") != "fulfilled":
        raise ValueError("the order is not fulfilled")
    return _of_order(_Kind("orders_fulfilled", "order_fulfilled", "updated_at"), order, {})


def refund_created(refund: MessageFields) -> Mapped:
    """What is given back for an order; without money, when things came back alone."""
    id_, order = refund.required("id"), refund.required("order_id")
    return _mapped(
        _Kind(f"refunds_create_{id_}", "refund", "created_at"),
        refund,
        {**_listing(refund_amounts(refund), returned(refund)), "order_id": order, "refund_id": id_},
        {ORDER: order},
        test=any(each.flag("test") for each in refund.inners("transactions")),
    )


def checkout_created(checkout: MessageFields) -> Mapped:
    """A checkout that somebody began."""
    token = checkout.text("token") or checkout.required("id")
    kind = _Kind(f"checkouts_create_{token}", "checkout_started", "created_at")
    ids = {PROVIDER: checkout.inner("customer").text("id"), CHECKOUT: token}
    return _mapped(kind, checkout, {"checkout_id": token}, ids)


def customer_created(customer: MessageFields) -> Mapped:
    """A customer, for the ids it brings."""
    id_ = customer.required("id")
    kind = _Kind(f"customers_create_{id_}", None, "created_at")
    return _mapped(kind, customer, {}, {PROVIDER: id_})


TOPICS: Final[Mapping[str, Callable[[MessageFields], Mapped]]] = MappingProxyType(
    {
        "checkouts/create": checkout_created,
        "customers/create": customer_created,
        "orders/cancelled": order_cancelled,
        "orders/fulfilled": order_fulfilled,
        "orders/paid": order_paid,
        "refunds/create": refund_created,
    }
)
"""The topics to subscribe to."""


def _listing(properties: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Properties with items, where there are any."""
    return {**properties, "items": items} if items else {**properties}


def _of_order(kind: _Kind, order: MessageFields, properties: Mapping[str, Any]) -> Mapped:
    id_ = order.required("id")
    ids = {
        PROVIDER: order.inner("customer").text("id"),
        ORDER: id_,
        CHECKOUT: order.text("checkout_token"),
    }
    named = {"order_id": id_, "order_name": order.text("name")}
    known = kind._replace(message_id=f"{kind.message_id}_{id_}")
    return _mapped(known, order, {**properties, **named}, ids, test=order.flag("test"))


def _mapped(
    kind: _Kind,
    about: MessageFields,
    properties: Mapping[str, Any],
    ids: Mapping[str, str | None],
    *,
    test: bool = False,
) -> Mapped:
    at = about.written_instant(kind.when)
    if at is None:
        raise ValueError(f"{kind.when} is missing")
    return Mapped(
        message_id=kind.message_id,
        event_name=kind.event_name,
        at=at,
        identity=_identity(about),
        properties={name: value for name, value in properties.items() if value is not None},
        external_ids={name: id_ for name, id_ in ids.items() if id_ is not None},
        test=test,
    )


def _identity(about: MessageFields) -> dict[str, str]:
    carried = (each.text("value") for each in about.inners("note_attributes") if each.text("name") == VISITOR)
    known = {
        "visitor_id": next((id_ for id_ in carried if id_), None),
        "email": about.text("email") or about.text("contact_email") or about.inner("customer").text("email"),
    }
    return {name: id_ for name, id_ in known.items() if id_ is not None}
