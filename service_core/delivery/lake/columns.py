"""The columns of the files of a lake, derived from those of an event."""

from dataclasses import dataclass
from typing import Final

from service_core.delivery.exports.export_rows import EVENT_COLUMNS
from service_core.delivery.exports.table import CellFormat
from service_core.ingestion.models import COLUMNS

SCHEMA_VERSION: Final = 1
"""Version of the columns and the layout; files of another version are written again."""

PARTITION_COLUMN: Final = "date"
"""Name of the column that the folders of the files hold."""

MONEY_DECIMALS: Final = 4
"""Decimals of amounts: as many as the currency with the most."""

_TYPE_NAMES: Final = {
    CellFormat.TEXT: "text",
    CellFormat.INTEGER: "bigint",
    CellFormat.FLAG: "boolean",
    CellFormat.INSTANT: "timestamp with time zone",
    CellFormat.JSON: "text",
    CellFormat.MONEY: f"decimal(38, {MONEY_DECIMALS})",
}


@dataclass(frozen=True, slots=True)
class LakeColumn:
    """A column of the files.

    Attributes:
        name: name of the column.
        format: what it holds.
        is_required: whether no value is null.
        description: its meaning.
    """

    name: str
    format: CellFormat
    is_required: bool
    description: str

    @property
    def type_name(self) -> str:
        """Returns the type as SQL names it."""
        return _TYPE_NAMES[self.format]


EVENT_LAKE_COLUMNS: Final = tuple(
    LakeColumn(
        exported.name,
        exported.format,
        exported.name in {"event_id", "event_name", "timestamp", "received_at", "visitor_id", "session_id"},
        f"{declared.description} JSON text."
        if exported.format is CellFormat.JSON
        else f"{declared.description} In major units."
        if exported.format is CellFormat.MONEY
        else declared.description,
    )
    for exported, declared in zip(EVENT_COLUMNS, COLUMNS, strict=False)
)
"""The columns of an event in the order of the files: those of `GET /events`."""
