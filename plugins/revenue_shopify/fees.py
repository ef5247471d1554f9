"""Fees: the transactions of Shopify Payments payouts say what Shopify kept of an order."""

from datetime import UTC, datetime
from typing import Final

from service_core.plugin import PAYMENT_FEE_EVENT, MappedMessage, MessageFields

BALANCE_TRANSACTION_TOPIC: Final = "shopify_payments/balance_transaction"
"""Topic of a polled transaction; Shopify sends no webhook for it. It names the kind of message to exclude, too."""


def reports_fee_of_order(transaction: MessageFields) -> bool:
    """Returns whether a transaction says what an order cost, or what its refund or dispute added to that."""
    fee = transaction.number("fee")
    if fee is None or transaction.text("source_order_id") is None:
        return False
    return transaction.text("type") == "charge" or bool(fee)


def processing_time(transaction: MessageFields) -> datetime | None:
    """Returns when a transaction was processed; a day without a time is its midnight in UTC."""
    at = transaction.iso_datetime_with_offset("processed_at")
    if at is not None:
        return at
    try:
        return datetime.fromisoformat(transaction.text("processed_at") or "").replace(tzinfo=UTC)
    except ValueError:
        return None


def map_balance_transaction(transaction: MessageFields) -> MappedMessage:
    """Maps a transaction of a payout to the fee of its order; one without an order gives no event.

    Raises:
        ValueError: an id, a time, an amount or a currency is missing.
    """
    id_, at = transaction.required_text("id"), processing_time(transaction)
    currency, fee = transaction.currency("currency"), transaction.number("fee")
    if at is None or currency is None or fee is None:
        raise ValueError("processed_at, currency or fee is missing")
    message_id = f"balance_transaction_{id_}"
    if not reports_fee_of_order(transaction):
        return MappedMessage(message_id, None, at)
    order = transaction.required_text("source_order_id")
    properties = {
        "revenue": "0",
        "currency": currency,
        "fee": f"{fee:f}",
        "order_id": order,
        "payout_id": transaction.text("payout_id"),
        "transaction_type": transaction.text("type"),
    }
    return MappedMessage(
        message_id=message_id,
        event_name=PAYMENT_FEE_EVENT,
        occurred_at=at,
        properties={name: value for name, value in properties.items() if value is not None},
        external_ids={"shopify_order": order},
        test=transaction.is_true("test"),
    )
