"""History of Stripe: objects of its API as NDJSON, or the payments that its dashboard exports as CSV."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any, Final

from plugins.revenue_stripe.adapter import Stripe
from plugins.revenue_stripe.amounts import DECIMALS
from plugins.revenue_stripe.fees import BALANCE_TRANSACTION
from plugins.revenue_stripe.mapping import map_message
from service_core.plugin import (
    ImportEntry,
    ImportFile,
    ImportSourceInfo,
    json_object,
    to_import_entry_without_subscription_facts,
)

_Objects = Mapping[str, Any]
_SUCCEEDED: Final = frozenset({"succeeded", "paid"})
_CREATED_COLUMNS: Final = ("Created date (UTC)", "Created (UTC)", "Created")
NOT_PAID: Final = "not_paid"
"""Difference of a payment that failed or is not paid yet."""
OTHER_OBJECT: Final = "other_object"
"""Difference of an object that says nothing of money, such as a product."""
NO_EVENT: Final = "no_event"
"""Difference of a message that names a person or a state, and no event."""


class StripeHistory:
    """Reads payment intents, charges, paid invoices, balance transactions and events of Stripe's API, and CSV payments."""

    @property
    def info(self) -> ImportSourceInfo:
        """Returns id, name and files."""
        return ImportSourceInfo(
            id="stripe",
            label="Stripe",
            homepage="https://docs.stripe.com/api/charges/object",
            files="Objects of the API as NDJSON, or payments of the dashboard as CSV",
        )

    def read_entries(self, file: ImportFile) -> Iterator[ImportEntry]:
        """Returns an entry for each row."""
        return file.map_rows(lambda row: _map_object(row if "object" in row else _charge_of_csv_row(row)))


def _map_object(about: _Objects) -> ImportEntry:
    """Returns the entry of an object of the API: its events, or why it becomes none."""
    day = _day(about.get("created"))
    kind = str(about.get("object"))
    messages: tuple[_Objects, ...]
    if kind in {"event", BALANCE_TRANSACTION}:
        messages = (about,)
    elif kind not in _MESSAGES_BY_OBJECT:
        return ImportEntry(None, OTHER_OBJECT, day=day)
    elif not (str(about.get("status")) in _SUCCEEDED or about.get("paid") is True):
        return ImportEntry(None, NOT_PAID, day=day)
    else:
        messages = tuple(_MESSAGES_BY_OBJECT[kind](about))
    try:
        mapped = [
            message for message in (map_message(m, "") for m in messages) if message.event_name is not None
        ]
    except ValueError:
        return ImportEntry(None, "malformed", day=day)
    if not mapped:
        return ImportEntry(None, NO_EVENT, day=day)
    return to_import_entry_without_subscription_facts(Stripe(), mapped)


def _messages_of_payment_intent(intent: _Objects) -> Iterator[_Objects]:
    yield _as_event("payment_intent.succeeded", intent)


def _messages_of_invoice(invoice: _Objects) -> Iterator[_Objects]:
    paid_at = json_object(invoice.get("status_transitions")).get("paid_at")
    yield _as_event("invoice.payment_succeeded", invoice, paid_at)


def _messages_of_charge(charge: _Objects) -> Iterator[_Objects]:
    """Yields the purchase of a charge, and its refund; of several refunds the sum at the time of the first."""
    payment = charge.get("payment_intent") or charge.get("id")
    intent = {**charge, "id": payment, "amount_received": charge.get("amount_captured", charge.get("amount"))}
    yield _as_event("payment_intent.succeeded", intent, charge.get("created"))
    if charge.get("amount_refunded"):
        refunds = json_object(charge.get("refunds")).get("data")
        first = json_object(refunds[-1]) if isinstance(refunds, list) and refunds else {}
        yield _as_event("charge.refunded", charge, first.get("created") or charge.get("created"))


def _as_event(kind: str, about: _Objects, at: object = None) -> _Objects:
    """Returns an event around an object; its id follows from the object, so that it is the same each time."""
    return {
        "id": f"history_{kind}_{about.get('id')}",
        "type": kind,
        "created": at or about.get("created"),
        "livemode": about.get("livemode", True),
        "data": {"object": about},
    }


_MESSAGES_BY_OBJECT: Final[Mapping[str, Callable[[_Objects], Iterator[_Objects]]]] = MappingProxyType(
    {
        "charge": _messages_of_charge,
        "invoice": _messages_of_invoice,
        "payment_intent": _messages_of_payment_intent,
    }
)


def _charge_of_csv_row(row: _Objects) -> _Objects:
    """Returns a payment of the dashboard's CSV export as a charge of the API."""
    currency = str(row.get("Currency", "")).upper()
    created = next((row[name] for name in _CREATED_COLUMNS if name in row), None)
    status = str(row.get("Status", "")).lower()
    return {
        "object": "charge",
        "id": row.get("id"),
        "payment_intent": row.get("PaymentIntent ID") or row.get("id"),
        "status": "succeeded" if "refund" in status else status,
        "created": _epoch_seconds(created),
        "currency": currency.lower(),
        "amount": _smallest_units(row.get("Amount"), currency),
        "amount_refunded": _smallest_units(row.get("Amount Refunded"), currency) or 0,
        "customer": row.get("Customer ID"),
        "receipt_email": row.get("Customer Email"),
        "invoice": row.get("Invoice ID"),
    }


def _smallest_units(text: Any, currency: str) -> int | None:
    try:
        return int(Decimal(str(text).replace(",", "")).scaleb(DECIMALS.get(currency, 2)))
    except (InvalidOperation, ValueError, OverflowError):
        return None


def _epoch_seconds(text: Any) -> int | None:
    try:
        return int(datetime.fromisoformat(str(text)).replace(tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _day(seconds: Any) -> str | None:
    return str(seconds) if isinstance(seconds, int) else None
