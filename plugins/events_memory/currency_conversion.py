"""Converts amounts of other currencies into the scope's currency."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from plugins.events_memory.workspace_events import Payment
from service_core.plugin import QueryScope, local_date

_MONEY_COLUMNS: Final = ("amount", "refunded", "gross", "discount", "tax", "shipping", "fee")


def convert_and_flag_missing_rate(
    scope: QueryScope, rate_instant: datetime, payment_columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the columns of a payment with amounts in the scope's currency where there is a rate, and ``missing_fx_rate``.

    Args:
        scope: the currency and the exchange rates.
        rate_instant: when the money moved; for a refund, when its order did.
        payment_columns: the columns of a row, with its original ``currency``.
    """
    currency = payment_columns["currency"]
    if currency in {None, scope.currency}:
        return {**payment_columns, "missing_fx_rate": False}
    if scope.rates is None:
        return {**payment_columns, "missing_fx_rate": True}
    day = local_date(rate_instant, ZoneInfo(scope.zone))
    amounts = {
        name: payment_columns[name] for name in _MONEY_COLUMNS if payment_columns.get(name) is not None
    }
    converted = {
        name: scope.rates.convert_minor_amount_or_none(day, currency, amount)
        for name, amount in amounts.items()
    }
    if None in converted.values():
        return {**payment_columns, "missing_fx_rate": True}
    return {**payment_columns, **converted, "missing_fx_rate": False}


def converted_amount_or_none(scope: QueryScope, payment: Payment) -> int | None:
    """Returns the amount of a payment in the scope's currency; None without a rate."""
    facts = {"currency": payment.event.currency, "amount": payment.amount}
    converted = convert_and_flag_missing_rate(scope, payment.booked_at(order_refunds=True), facts)
    return None if converted["missing_fx_rate"] else int(converted["amount"])


def sum_converted_and_flag_missing_rate(scope: QueryScope, payments: Iterable[Payment]) -> tuple[int, bool]:
    """Returns the sum of payments in the scope's currency, and whether some has no rate."""
    payments_list = list(payments)
    amounts = [(payment.amount, converted_amount_or_none(scope, payment)) for payment in payments_list]
    return sum(converted or 0 for _, converted in amounts), any(
        amount and converted is None for amount, converted in amounts
    )
