"""An answer as a table of rows, for the formats of files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class CellType(Enum):
    """Type of the values of a column; each value may also be None."""

    TEXT = "text"
    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    """A number with a fixed count of decimals, such as money in major units."""

    FLAG = "flag"
    INSTANT = "instant"
    DATE = "date"
    """A date as text, ``2026-07-01``."""

    LOCAL_TIME = "local_time"
    """A local time without a zone as text, ``2026-07-01T15:00``."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """Type of a column, for formats with types; ``decimals`` is that of `CellType.DECIMAL`."""

    cell: CellType
    decimals: int = 0


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """Rows of an answer, with everything else that a reader of the rows has to know.

    Attributes:
        columns: names of the columns.
        types: their types.
        rows: one value per column, in the order of the answer; None for an unknown value.
        headers: HTTP headers that say what is missing from the rows, and how to read them.
        last_record: the object after the rows in NDJSON.
        field_outside_rows: field of the request whose part of the answer only JSON and NDJSON can hold, if there is one.
    """

    columns: tuple[str, ...]
    types: tuple[ColumnType, ...]
    rows: Sequence[Sequence[Any]]
    headers: Mapping[str, str] = field(default_factory=dict)
    last_record: Mapping[str, Any] = field(default_factory=dict)
    field_outside_rows: str | None = None
