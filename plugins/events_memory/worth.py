"""Money of other currencies in that of a scan (semantics 10.7)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from service_core.plugin import Scan, local_date

_MONEY: Final = ("amount", "refunded", "gross", "discount", "tax", "shipping", "fee")


def told(scan: Scan, at: datetime, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a movement with its money in the scan's currency, where there is a rate; ``no_rate`` tells.

    Args:
        scan: which currency, and the rates.
        at: when the money moved; for a refund, when its order did.
        facts: a row, with its original ``currency``.
    """
    currency = facts["currency"]
    if currency in {None, scan.currency}:
        return {**facts, "no_rate": False}
    if scan.rates is None:
        return {**facts, "no_rate": True}
    day = local_date(at, ZoneInfo(scan.zone))
    known = {name: facts[name] for name in _MONEY if facts.get(name) is not None}
    worth = {name: scan.rates.worth(day, currency, amount) for name, amount in known.items()}
    if None in worth.values():
        return {**facts, "no_rate": True}
    return {**facts, **worth, "no_rate": False}
