"""Fees: balance transactions say what Stripe kept of a charge, in the currency it settles in."""

from decimal import Decimal
from typing import Any, Final

from plugins.revenue_stripe.amounts import to_major_units
from plugins.revenue_stripe.event import PAYMENT_NAMESPACE, PROVIDER, referenced_id
from plugins.revenue_stripe.payments import invoice_id_of_any_api_version, order_ids
from service_core.plugin import PAYMENT_FEE_EVENT, MappedMessage, MessageFields, to_major, to_minor

BALANCE_TRANSACTION: Final = "balance_transaction"
"""Value of ``object`` of a balance transaction, and its name among the kinds of message that can be excluded."""

_SOURCES_WITH_CHARGE: Final = frozenset({"refund", "dispute"})


def reports_fee_of_charge(transaction: MessageFields) -> bool:
    """Returns whether a balance transaction says what a charge cost, or what its refund or dispute added to that."""
    source, fee = transaction.object("source"), transaction.number("fee")
    if source.text("object") == "charge":
        return fee is not None
    is_of_charge = source.text("object") in _SOURCES_WITH_CHARGE and referenced_id(source, "charge")
    return bool(fee) and bool(is_of_charge)


def map_balance_transaction(transaction: MessageFields) -> MappedMessage:
    """Maps a balance transaction to the fee of its charge; one that says nothing of a charge gives no event.

    Its ``source`` is expanded. The fee of a refund or dispute is dated as the charge, where that is expanded, too.

    Raises:
        ValueError: an id, a time, an amount or a currency is missing.
    """
    id_, created = transaction.required_text("id"), transaction.epoch_seconds("created")
    source, fee = transaction.object("source"), transaction.number("fee")
    if created is None:
        raise ValueError("created is missing")
    if fee is None or not reports_fee_of_charge(transaction):
        return MappedMessage(id_, None, created)
    is_charge = source.text("object") == "charge"
    charge = source if is_charge else source.object("charge")
    charge_id = source.required_text("id") if is_charge else referenced_id(source, "charge")
    payment = referenced_id(charge, "payment_intent") or referenced_id(source, "payment_intent")
    invoice = invoice_id_of_any_api_version(charge)
    properties = {
        **_fee_in_currency_of_source(transaction, source, fee),
        **order_ids(charge, payment, invoice or payment or charge_id),
        "charge_id": charge_id,
        "balance_transaction": id_,
        "reporting_category": transaction.text("reporting_category") or transaction.text("type"),
        "fee_details": _fee_details(transaction),
    }
    ids = {PROVIDER: referenced_id(charge, "customer"), PAYMENT_NAMESPACE: payment}
    return MappedMessage(
        message_id=id_,
        event_name=PAYMENT_FEE_EVENT,
        occurred_at=created if is_charge else charge.epoch_seconds("created") or created,
        properties={name: value for name, value in properties.items() if value is not None},
        external_ids={name: value for name, value in ids.items() if value is not None},
        test=charge.values.get("livemode") is False,
    )


def _fee_in_currency_of_source(
    transaction: MessageFields, source: MessageFields, fee: Decimal
) -> dict[str, str]:
    """Returns the fee in the currency of the charge, by the rate Stripe converted with, and as it was settled.

    Raises:
        ValueError: an amount or a currency is missing.
    """
    currency, settled = source.currency("currency"), transaction.currency("currency")
    if currency is None or settled is None:
        raise ValueError("a currency is missing")
    own = to_major_units(fee, settled)
    if currency != settled:
        amount, settled_amount = source.number("amount"), transaction.number("amount")
        if amount is None or not settled_amount:
            raise ValueError("an amount is missing")
        own = to_major_units(fee * abs(amount) / abs(settled_amount), currency)
    return {
        "revenue": "0",
        "currency": currency,
        "fee": f"{to_major(to_minor(own, currency), currency):f}",
        "settlement_fee": f"{to_major_units(fee, settled):f}",
        "settlement_currency": settled,
    }


def _fee_details(transaction: MessageFields) -> list[dict[str, Any]] | None:
    details = [
        {"type": part.text("type"), "amount": f"{to_major_units(amount, currency):f}", "currency": currency}
        for part in transaction.objects("fee_details")
        if (amount := part.number("amount")) is not None and (currency := part.currency("currency"))
    ]
    return details or None
