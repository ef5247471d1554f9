"""Validates the rows of a cost import.

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

from service_core.access.models import Workspace
from service_core.commerce.costs.import_schemas import CostImport, RawCostRow
from service_core.commerce.costs.models import MILLION, ItemCost, ItemIdType

_COST_LIMIT: Final = Decimal(10) ** 12
"""Major units; with six decimals still a number that every store keeps."""
_FIRST_DAY: Final = date(1970, 1, 1)
_END_DAY: Final = date(9000, 1, 1)


class RejectReason(StrEnum):
    """Why a row is not taken."""

    UNKNOWN_SKU = "unknown_sku"
    DUPLICATE_ROW = "duplicate_row"
    NEGATIVE_COST = "negative_cost"
    INVALID_COST = "invalid_cost"
    CURRENCY_MISMATCH = "currency_mismatch"
    INVALID_DATE = "invalid_date"


class _RowRejected(Exception):
    """A row that is not taken, and why."""


@dataclass(frozen=True, slots=True)
class ValidatedImport:
    """An import, read.

    Attributes:
        errors: number of each row that is not taken, the first row is 1, and why.
        hash: differs where workspace, costs or errors differ.
    """

    costs: Sequence[ItemCost]
    errors: Sequence[tuple[int, RejectReason]]
    hash: str

    @property
    def import_id(self) -> UUID:
        """Id of the import: sent again, it is the same one."""
        return UUID(self.hash[:32])


def validate_cost_rows(cost_import: CostImport, workspace: Workspace) -> ValidatedImport:
    """Returns the valid costs of an import and the rejected rows; of rows for one item and day the first counts.

    Raises:
        BadRequest: it has no form that has rows.
    """
    currency = cost_import.currency or workspace.currency
    known: dict[tuple[ItemIdType, str, date], ItemCost] = {}
    errors: list[tuple[int, RejectReason]] = []
    for number, row in enumerate(cost_import.parse_rows_or_csv(), start=1):
        try:
            cost = _parse_cost_row(row, cost_import.effective_from, currency)
        except _RowRejected as rejected:
            errors.append((number, rejected.args[0]))
            continue
        if known.setdefault((cost.known_by, cost.item, cost.effective_from), cost) is not cost:
            errors.append((number, RejectReason.DUPLICATE_ROW))
    return ValidatedImport([*known.values()], errors, _hash_import(workspace, known.values(), errors))


def _parse_cost_row(row: RawCostRow, default_day: str | None, currency: str) -> ItemCost:
    if row.currency is not None and row.currency.upper() != currency:
        raise _RowRejected(RejectReason.CURRENCY_MISMATCH)
    known_by = ItemIdType.SKU if row.sku else ItemIdType.VARIANT
    item = row.sku or row.variant_id
    if item is None:
        raise _RowRejected(RejectReason.UNKNOWN_SKU)
    handling = None if row.handling_cost is None else _parse_cost_to_millionths(row.handling_cost)
    return ItemCost(
        known_by,
        item,
        _parse_start_day(row.effective_from or default_day),
        _parse_cost_to_millionths(row.unit_cost),
        handling,
        currency,
    )


def _parse_cost_to_millionths(text: str | None) -> int:
    """Major units as millionths."""
    try:
        amount = Decimal(text or "")
    except InvalidOperation:
        raise _RowRejected(RejectReason.INVALID_COST) from None
    if not amount.is_finite() or abs(amount) >= _COST_LIMIT or amount * MILLION % 1:
        raise _RowRejected(RejectReason.INVALID_COST)
    if amount < 0:
        raise _RowRejected(RejectReason.NEGATIVE_COST)
    return int(amount * MILLION)


def _parse_start_day(text: str | None) -> date:
    try:
        day = date.fromisoformat(text or "")
    except ValueError:
        raise _RowRejected(RejectReason.INVALID_DATE) from None
    if not _FIRST_DAY <= day < _END_DAY:
        raise _RowRejected(RejectReason.INVALID_DATE)
    return day


def _hash_import(
    workspace: Workspace, costs: Iterable[ItemCost], errors: Iterable[tuple[int, RejectReason]]
) -> str:
    listed = [
        (c.known_by, c.item, c.effective_from.isoformat(), c.unit_cost, c.handling_cost, c.currency)
        for c in costs
    ]
    content = json.dumps([str(workspace.id), listed, list(errors)], separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()
