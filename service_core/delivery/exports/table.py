"""What is written into a file: named columns with the form of their cells, and batches of rows."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from service_core.analytics.reads.export_streams import RowBatch
from service_core.delivery.exports.models import ExportFormat


class CellFormat(Enum):
    """The form of a column's values in a batch, and what becomes of them in a file (contract 6).

    Null is an empty cell in CSV and ``null`` in NDJSON, whatever the column.
    """

    TEXT = "text"
    """Text; in CSV made inert where a spreadsheet would run it."""

    INTEGER = "integer"
    FLAG = "flag"

    INSTANT = "instant"
    """A datetime, aware or naive UTC, written with milliseconds and a Z."""

    JSON = "json"
    """JSON text: a cell of CSV as it is, a value in NDJSON."""

    MONEY = "money"
    """Minor units of the row's ``currency``, written in major units."""

    DECIMAL = "decimal"
    """A plain decimal as text, written as a number."""


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """A column of a file."""

    name: str
    format: CellFormat


@dataclass(frozen=True, slots=True)
class ExportTable:
    """A file before it is written.

    Attributes:
        columns: in the order of the file.
        batches: rows in order, possibly a few more than ``most``.
        most: rows the file may hold.
    """

    columns: tuple[ExportColumn, ...]
    batches: AsyncGenerator[RowBatch, None]
    max_rows: int


class Renderer(Protocol):
    """Turns batches into the bytes of one format."""

    def render_header(self) -> bytes:
        """What stands before the first row."""

    def render_rows(self, batch: RowBatch, max_rows: int) -> tuple[bytes, int]:
        """The first ``most`` rows of a batch, and how many it has."""


RendererFactory = Callable[[ExportFormat, Sequence[ExportColumn]], Renderer]
"""Opens a renderer; the core has none, since it knows no data frames."""
