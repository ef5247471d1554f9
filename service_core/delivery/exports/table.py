"""Columns, cell formats and row batches of an export file."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from service_core.analytics.reads.export_streams import RowBatch
from service_core.delivery.exports.models import ExportFormat


class CellFormat(Enum):
    """How the values of a column are written to a file.

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
    """A column of an export file."""

    name: str
    format: CellFormat


@dataclass(frozen=True, slots=True)
class ExportTable:
    """Columns and row batches of a file, before it is written.

    Attributes:
        columns: in the order of the file.
        batches: rows in order, possibly a few more than ``max_rows``.
        max_rows: rows the file may hold.
    """

    columns: tuple[ExportColumn, ...]
    batches: AsyncGenerator[RowBatch, None]
    max_rows: int


class Renderer(Protocol):
    """Converts row batches to the bytes of one file format."""

    def render_header(self) -> bytes:
        """Returns the bytes before the first row."""

    def render_rows(self, batch: RowBatch, max_rows: int) -> tuple[bytes, int]:
        """Returns the bytes of at most ``max_rows`` rows of a batch, and the number of rows in it."""


RendererFactory = Callable[[ExportFormat, Sequence[ExportColumn]], Renderer]
"""Opens a renderer; the core has none, since it knows no data frames."""
