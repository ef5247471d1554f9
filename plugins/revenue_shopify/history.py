"""History of Shopify: orders of its API as NDJSON, or the orders that its admin exports as CSV."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from plugins.revenue_shopify.adapter import Shopify
from plugins.revenue_shopify.mapping import PAID_STATUSES, map_message
from plugins.revenue_shopify.webhook_headers import TOPIC_HEADER
from service_core.plugin import (
    ImportEntry,
    ImportFile,
    ImportSourceInfo,
    MappedMessage,
    WebhookDelivery,
    json_object,
    to_import_entry_without_subscription_facts,
)

NOT_PAID: Final = "not_paid"
"""Difference of an order that is not paid in full."""
FURTHER_ITEM: Final = "further_item"
"""Difference of a CSV row with a further item of the order above."""
_RECEIVED: Final = datetime(1970, 1, 1, tzinfo=UTC)


class ShopifyHistory:
    """Reads orders of the REST API, and CSV orders; refunds of an order belong to its row."""

    @property
    def info(self) -> ImportSourceInfo:
        """Returns id, name and files."""
        return ImportSourceInfo(
            id="shopify",
            label="Shopify",
            homepage="https://help.shopify.com/en/manual/fulfillment/managing-orders/exporting-orders",
            files="Orders of the API as NDJSON, or orders of the admin as CSV",
        )

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Returns an entry for each row."""
        return file.map_rows(_map_row)


def _map_row(row: Mapping[str, Any]) -> ImportEntry:
    if "Name" not in row:
        return _map_order(row)
    if "Financial Status" not in row:
        return ImportEntry(None, FURTHER_ITEM, day=row.get("Created at"))
    return _map_order(_order_of_csv_row(row))


def _map_order(order: Mapping[str, Any]) -> ImportEntry:
    paid_at = order.get("processed_at") or order.get("created_at")
    day = str(paid_at) if paid_at else None
    if str(order.get("financial_status")) not in PAID_STATUSES:
        return ImportEntry(None, NOT_PAID, day=day)
    refunds = order.get("refunds")
    try:
        messages = [
            _map("orders/paid", {**order, "updated_at": paid_at}),
            *(
                _map("refunds/create", {"order_id": order.get("id"), **json_object(refund)})
                for refund in (refunds if isinstance(refunds, list) else ())
            ),
        ]
    except ValueError:
        return ImportEntry(None, "malformed", day=day)
    return to_import_entry_without_subscription_facts(Shopify(), messages)


def _map(topic: str, message: Mapping[str, Any]) -> MappedMessage:
    return map_message(message, WebhookDelivery({TOPIC_HEADER: topic}, b"", _RECEIVED))


def _order_of_csv_row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns an order of the CSV export as the API has it; a refunded amount is a refund at the time of payment."""
    paid_at = _iso_time(row.get("Paid at") or row.get("Created at"))
    id_, currency, refunded = (
        row.get("Id") or row.get("Name"),
        row.get("Currency"),
        row.get("Refunded Amount"),
    )
    order = {
        "id": id_,
        "name": row.get("Name"),
        "email": row.get("Email"),
        "financial_status": row.get("Financial Status"),
        "processed_at": paid_at,
        "currency": currency,
        "subtotal_price": row.get("Subtotal"),
        "total_tax": row.get("Taxes"),
        "total_discounts": row.get("Discount Amount") or "0",
        "shipping_lines": [{"price": row.get("Shipping") or "0"}],
    }
    if refunded and str(refunded).strip("0.,"):
        transaction = {"kind": "refund", "status": "success", "amount": refunded, "currency": currency}
        order["refunds"] = [{"id": f"{id_}_csv", "created_at": paid_at, "transactions": [transaction]}]
    return order


def _iso_time(text: Any) -> str | None:
    """Returns a time such as ``2026-07-01 10:00:00 +0200`` as ISO 8601."""
    try:
        return datetime.strptime(str(text), "%Y-%m-%d %H:%M:%S %z").isoformat()
    except ValueError:
        return None
