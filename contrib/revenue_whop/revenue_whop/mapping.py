"""A message of Whop as what it says. Pure."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from service_core.plugin import MappedMessage, MessageFields

PROVIDER: Final = "whop"
EVENT_NAMES: Final = {
    "payment.succeeded": "purchase",
    "membership.went_valid": "subscription_started",
    "membership.activated": "subscription_started",
    "membership.renewed": "subscription_renewed",
}
"""A membership that is activated went valid in earlier versions of the webhooks."""


def map_message(message: Mapping[str, Any]) -> MappedMessage:
    """Returns what the body of a webhook is mapped to; a type without an event gives a message without event.

    Raises:
        ValueError: it has no type, id, time or data.
    """
    fields = MessageFields(message)
    id_, kind, at = (
        fields.required_text("id"),
        fields.required_text("type"),
        _parse_iso_datetime_assuming_utc(fields, "timestamp"),
    )
    if at is None:
        raise ValueError("timestamp is missing")
    if kind not in EVENT_NAMES:
        return MappedMessage(id_, None, at)
    data = fields.object("data")
    of = data.required_text("id")
    reported = (
        _order_properties_net_of_tax(data, of) if kind == "payment.succeeded" else (("subscription_id", of),)
    )
    return MappedMessage(
        id_,
        EVENT_NAMES[kind],
        _parse_iso_datetime_assuming_utc(data, "paid_at") or at,
        identity=_visitor_id_and_email(data),
        properties=dict(reported) | _product_and_membership_properties(data),
        external_ids=_external_ids(data),
    )


def _order_properties_net_of_tax(data: MessageFields, order_id: str) -> Iterator[tuple[str, str]]:
    """Yields the order id and, if the currency is known, the total without tax."""
    currency, total = data.currency("currency"), data.number("total")
    tax = data.number("tax_amount")
    yield "order_id", order_id
    if currency is None or total is None:
        return
    yield "currency", currency
    yield "revenue", f"{total - (tax or 0):f}"
    if tax is not None and tax >= 0:
        yield "tax", f"{tax:f}"
    if "promo_code" in data.values and data.values["promo_code"] is None:
        yield "discount", "0"


def _product_and_membership_properties(data: MessageFields) -> dict[str, str]:
    known = {
        "product_id": data.object("product").text("id"),
        "plan_id": data.object("plan").text("id"),
        "membership_id": data.object("membership").text("id"),
        "billing_reason": data.text("billing_reason"),
    }
    return {name: value for name, value in known.items() if value is not None}


def _visitor_id_and_email(data: MessageFields) -> dict[str, str]:
    known = {
        "visitor_id": data.object("metadata").text("visitor_id"),
        "email": data.object("user").text("email"),
    }
    return {name: value for name, value in known.items() if value is not None}


def _external_ids(data: MessageFields) -> dict[str, str]:
    user = data.object("user").text("id")
    return {} if user is None else {PROVIDER: user}


def _parse_iso_datetime_assuming_utc(data: MessageFields, field_name: str) -> datetime | None:
    """Returns an ISO 8601 time as aware UTC, assumed to be UTC without an offset; None if it is malformed."""
    try:
        read = datetime.fromisoformat(data.text(field_name) or "")
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
