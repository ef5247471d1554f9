"""Converts amounts of other currencies into the scan's currency."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from plugins.events_memory.workspace_events import Payment
from service_core.plugin import QueryScope, local_date

_MONEY_COLUMNS: Final = ("amount", "refunded", "gross", "discount", "tax", "shipping", "fee")


def convert_amounts(scan: QueryScope, rate_instant: datetime, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the columns of a payment with amounts in the scan's currency where there is a rate, and ``missing_fx_rate``.

    Args:
        scan: the currency and the exchange rates.
        rate_instant: when the money moved; for a refund, when its order did.
        facts: the columns of a row, with its original ``currency``.
    """
    currency = facts["currency"]
    if currency in {None, scan.currency}:
        return {**facts, "missing_fx_rate": False}
    if scan.rates is None:
        return {**facts, "missing_fx_rate": True}
    day = local_date(rate_instant, ZoneInfo(scan.zone))
    known = {name: facts[name] for name in _MONEY_COLUMNS if facts.get(name) is not None}
    worth = {name: scan.rates.convert_amount(day, currency, amount) for name, amount in known.items()}
    if None in worth.values():
        return {**facts, "missing_fx_rate": True}
    return {**facts, **worth, "missing_fx_rate": False}


def converted_amount(scan: QueryScope, moved: Payment) -> int | None:
    """Returns the amount of a payment in the scan's currency; None without a rate."""
    facts = {"currency": moved.event.currency, "amount": moved.amount}
    worth = convert_amounts(scan, moved.booked_at(order_refunds=True), facts)
    return None if worth["missing_fx_rate"] else int(worth["amount"])


def sum_converted(scan: QueryScope, moved: Iterable[Payment]) -> tuple[int, bool]:
    """Returns the sum of payments in the scan's currency, and whether some has no rate."""
    listed = list(moved)
    worth = [(each.amount, converted_amount(scan, each)) for each in listed]
    return sum(known or 0 for _, known in worth), any(own and known is None for own, known in worth)
