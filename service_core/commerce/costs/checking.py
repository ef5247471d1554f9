"""Rows of an import as costs, and what is wrong with the others.

A cost is taken whether or not anybody ever bought its item: what a shop will sell is imported first, and
its first import comes before its first order. So ``unknown_sku`` is said of a row that names no item, and
a sku with a slip shows where it matters: what is sold under the right one has no cost.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Final
from uuid import UUID

from service_core.access.model import Workspace
from service_core.commerce.costs.asked import CostImport, SentRow
from service_core.commerce.costs.model import MILLION, ItemCost, KnownBy

_MOST: Final = Decimal(10) ** 12
"""Major units; with six decimals still a number that every store keeps."""
_FIRST: Final = date(1970, 1, 1)
_LAST: Final = date(9000, 1, 1)


class Wrong(StrEnum):
    """Why a row is not taken."""

    UNKNOWN_SKU = "unknown_sku"
    DUPLICATE_ROW = "duplicate_row"
    NEGATIVE_COST = "negative_cost"
    INVALID_COST = "invalid_cost"
    CURRENCY_MISMATCH = "currency_mismatch"
    INVALID_DATE = "invalid_date"


class _Rejected(Exception):
    """A row that is not taken, and why."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An import, read.

    Attributes:
        errors: number of each row that is not taken, the first row is 1, and why.
        hash: differs where workspace, costs or errors differ.
    """

    costs: Sequence[ItemCost]
    errors: Sequence[tuple[int, Wrong]]
    hash: str

    @property
    def import_id(self) -> UUID:
        """Id of the import: sent again, it is the same one."""
        return UUID(self.hash[:32])


def checked(asked: CostImport, workspace: Workspace) -> Checked:
    """Read an import.

    Raises:
        BadRequest: it has no form that has rows.
    """
    currency = asked.currency or workspace.currency
    known: dict[tuple[KnownBy, str, date], ItemCost] = {}
    errors: list[tuple[int, Wrong]] = []
    for number, row in enumerate(asked.sent(), start=1):
        try:
            cost = _cost(row, asked.effective_from, currency)
        except _Rejected as rejected:
            errors.append((number, rejected.args[0]))
            continue
        if known.setdefault((cost.known_by, cost.item, cost.effective_from), cost) is not cost:
            errors.append((number, Wrong.DUPLICATE_ROW))
    return Checked([*known.values()], errors, _hash(workspace, known.values(), errors))


def _cost(row: SentRow, usual_day: str | None, currency: str) -> ItemCost:
    if row.currency is not None and row.currency.upper() != currency:
        raise _Rejected(Wrong.CURRENCY_MISMATCH)
    known_by = KnownBy.SKU if row.sku else KnownBy.VARIANT
    item = row.sku or row.variant_id
    if item is None:
        raise _Rejected(Wrong.UNKNOWN_SKU)
    handling = None if row.handling_cost is None else _amount(row.handling_cost)
    return ItemCost(
        known_by, item, _day(row.effective_from or usual_day), _amount(row.unit_cost), handling, currency
    )


def _amount(text: str | None) -> int:
    """Major units as millionths."""
    try:
        amount = Decimal(text or "")
    except InvalidOperation:
        raise _Rejected(Wrong.INVALID_COST) from None
    if not amount.is_finite() or abs(amount) >= _MOST or amount * MILLION % 1:
        raise _Rejected(Wrong.INVALID_COST)
    if amount < 0:
        raise _Rejected(Wrong.NEGATIVE_COST)
    return int(amount * MILLION)


def _day(text: str | None) -> date:
    try:
        day = date.fromisoformat(text or "")
    except ValueError:
        raise _Rejected(Wrong.INVALID_DATE) from None
    if not _FIRST <= day < _LAST:
        raise _Rejected(Wrong.INVALID_DATE)
    return day


def _hash(workspace: Workspace, costs: Iterable[ItemCost], errors: Iterable[tuple[int, Wrong]]) -> str:
    listed = [
        (c.known_by, c.item, c.effective_from.isoformat(), c.unit_cost, c.handling_cost, c.currency)
        for c in costs
    ]
    said = json.dumps([str(workspace.id), listed, list(errors)], separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()
