"""Restores the columns of event rows that an import reads from an export of Touchpoint.

An exported row was enriched once: its device, place, source and money cannot be derived again from its payload. The
import sends them along, and they replace what enrichment finds.
"""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from types import MappingProxyType, UnionType
from typing import Any, Final, get_args, get_origin

from service_core.ingestion.models import COLUMNS, WIRE_COLUMNS
from service_core.kernel.money import to_minor_or_none_if_out_of_range

IMPORTED_COLUMNS_HEADER: Final = "imported-columns"
"""Stored header of an imported event: JSON of its columns. No client can send it: the host keeps other headers only."""

_RECOMPUTED: Final = frozenset({"event_id", "event_name", "timestamp", "received_at", "event_data"})
"""Columns that the body restores, or that belong to the import itself."""
_TYPE_BY_COLUMN: Final[Mapping[str, Any]] = MappingProxyType(
    {c.name: c.type for c in COLUMNS if c.name in WIRE_COLUMNS and c.name not in _RECOMPUTED}
)
_EXPORT_MARKS: Final = frozenset({"event_id", "event_name", "received_at", "visitor_id", "event_data"})


def is_touchpoint_export(columns: frozenset[str]) -> bool:
    """Returns whether the columns of a file are those of an event export of Touchpoint."""
    return columns >= _EXPORT_MARKS and len(columns & frozenset(WIRE_COLUMNS)) > len(WIRE_COLUMNS) // 2


def encode_imported_columns(row: Mapping[str, Any]) -> str:
    """Returns the header value of an exported row; cells that are empty or of another type are left out."""
    columns = {name: _parse_cell(name, row[name]) for name in _TYPE_BY_COLUMN if name in row}
    if columns.get("revenue") is not None:
        columns["revenue"] = _minor_units(row["revenue"], columns.get("currency"))
    return json.dumps({name: value for name, value in columns.items() if value is not None})


def decode_imported_columns(header: str) -> dict[str, Any]:
    """Returns the columns of a header value, with the types of the event row."""
    columns: dict[str, Any] = json.loads(header)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in columns.items()}


def _parse_cell(name: str, cell: Any) -> Any:
    """Returns a cell as the type of its column; texts of CSV files are parsed. None for an empty or unreadable cell."""
    if cell is None or cell == "":
        return None
    kind = _TYPE_BY_COLUMN[name]
    if isinstance(kind, UnionType):
        kind = next(choice for choice in get_args(kind) if choice is not type(None))
    if kind is bool:
        return cell if isinstance(cell, bool) else str(cell).lower() == "true"
    if kind is int:
        return _integer(cell) if name != "revenue" else str(cell)
    if get_origin(kind) is not None:
        value = json.loads(cell) if isinstance(cell, str) else cell
        return list(value) if isinstance(value, list | tuple) else dict(value)
    return str(cell)


def _integer(cell: Any) -> int | None:
    try:
        return int(cell)
    except ValueError:
        return None


def _minor_units(amount: Any, currency: str | None) -> int | None:
    try:
        return to_minor_or_none_if_out_of_range(Decimal(str(amount)), currency) if currency else None
    except InvalidOperation:
        return None
