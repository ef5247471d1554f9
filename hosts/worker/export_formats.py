"""Writes export files as CSV or NDJSON with Polars, batch by batch."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from io import BytesIO
from itertools import chain, islice
from typing import Any, Final, Protocol

import polars as pl

from service_core.analytics.reads.export_streams import RowBatch
from service_core.delivery.exports.models import ExportFormat
from service_core.delivery.exports.table import CellFormat, ExportColumn, Renderer
from service_core.kernel.file_response import FORMULA_STARTS
from service_core.kernel.money import currency_decimals

_POLARS_TYPES: Final[Mapping[CellFormat, Any]] = {
    CellFormat.INTEGER: pl.Int64,
    CellFormat.FLAG: pl.Boolean,
    CellFormat.INSTANT: pl.Datetime("us"),
    CellFormat.MONEY: pl.Int64,
}
"""Polars types of columns that are not text."""

ROWS_PER_CHUNK: Final = 5_000
"""Rows formatted at a time: what formatting needs besides the rows stays a few megabytes."""

_INSTANT_FORMAT: Final = "%Y-%m-%dT%H:%M:%S%.3fZ"
_RAW_JSON_CELLS: Final = frozenset({CellFormat.JSON, CellFormat.MONEY, CellFormat.DECIMAL})
"""Cells whose text is JSON as it is."""


def create_renderer(form: ExportFormat, columns: Sequence[ExportColumn]) -> Renderer:
    """Returns the renderer of a format."""
    return _CsvWriter(columns) if form is ExportFormat.CSV else _NdjsonWriter(columns)


class _ExportWriter(ABC):
    """Writes batches with the columns of the file; times and money are formatted."""

    def __init__(self, columns: Sequence[ExportColumn]) -> None:
        self._columns = columns
        self._spelled = [_FORMATTERS[c.format](c.name) for c in columns if c.format in _FORMATTERS]

    def render_header(self) -> bytes:
        return b""

    def render_rows(self, batch: RowBatch, max_rows: int) -> tuple[bytes, int]:
        """Returns the bytes of the first ``max_rows`` rows, and the number of rows in the batch."""
        frame = build_frame(self._columns, batch)
        out = BytesIO()
        for piece in frame.head(max_rows).iter_slices(ROWS_PER_CHUNK):
            self.write_formatted_rows(piece.with_columns(self._spelled), out)
        return out.getvalue(), len(frame)

    @abstractmethod
    def write_formatted_rows(self, frame: pl.DataFrame, out: BytesIO) -> None:
        """Writes the rows of a frame."""


class _TypedColumn(Protocol):
    """A column of a file of any kind."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def format(self) -> CellFormat:
        """What it holds."""


def build_frame(columns: Sequence[_TypedColumn], batch: RowBatch) -> pl.DataFrame:
    """Returns a batch as a data frame with naive UTC timestamps and amounts in minor units."""
    if not isinstance(batch, Mapping):
        return pl.DataFrame(batch)
    return pl.DataFrame([_build_series(column, batch[column.name]) for column in columns])


def _build_series(column: _TypedColumn, values: Sequence[Any]) -> pl.Series:
    if column.format is not CellFormat.INSTANT:
        return pl.Series(column.name, values, dtype=_POLARS_TYPES.get(column.format, pl.String))
    return pl.Series(column.name, map(_without_zone, values), dtype=_POLARS_TYPES[CellFormat.INSTANT])


def _without_zone(instant: datetime | None) -> datetime | None:
    return (
        instant if instant is None or instant.tzinfo is None else instant.astimezone(UTC).replace(tzinfo=None)
    )


def _format_instant(name: str) -> pl.Expr:
    return pl.col(name).dt.strftime(_INSTANT_FORMAT)


def money_as_decimal_text_by_row_currency(amount_column: str) -> pl.Expr:
    """Formats minor units as a decimal by the row's currency; an amount without a currency stays."""
    amount, decimals = (
        pl.col(amount_column),
        pl.col("currency").map_batches(_currency_decimals, return_dtype=pl.Int64),
    )
    choices: list[tuple[int, pl.Expr]] = [
        (places, _insert_decimal_point(amount, places)) for places in (2, 3, 4)
    ]
    text = reduce(
        lambda other, choice: pl.when(decimals == choice[0]).then(choice[1]).otherwise(other),
        choices,
        amount.cast(pl.String),
    )
    return text.alias(amount_column)


def _insert_decimal_point(amount: pl.Expr, places: int) -> pl.Expr:
    """``-5`` with two places is ``-0.05``."""
    digits = amount.abs().cast(pl.String).str.zfill(places + 1)
    sign = pl.when(amount < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return sign + digits.str.head(-places) + "." + digits.str.tail(places)


def _currency_decimals(currencies: pl.Series) -> pl.Series:
    known = {code: currency_decimals(code) for code in currencies.unique().drop_nulls()}
    return currencies.replace_strict(known, default=0, return_dtype=pl.Int64)


_FORMATTERS: Final[Mapping[CellFormat, Callable[[str], pl.Expr]]] = {
    CellFormat.INSTANT: _format_instant,
    CellFormat.MONEY: money_as_decimal_text_by_row_currency,
}


class _CsvWriter(_ExportWriter):
    """Writes RFC 4180 with a header and CRLF; text that a spreadsheet would run as a formula gets an apostrophe."""

    def render_header(self) -> bytes:
        return ",".join(column.name for column in self._columns).encode() + b"\r\n"

    def write_formatted_rows(self, frame: pl.DataFrame, out: BytesIO) -> None:
        inert = [
            _escape_formulas(c.name) if c.format is CellFormat.TEXT else pl.col(c.name) for c in self._columns
        ]
        frame.select(inert).write_csv(out, include_header=False, line_terminator="\r\n", null_value="")


def _escape_formulas(name: str) -> pl.Expr:
    text = pl.col(name)
    return pl.when(text.str.slice(0, 1).is_in(FORMULA_STARTS)).then("'" + text).otherwise(text).alias(name)


class _NdjsonWriter(_ExportWriter):
    """Writes one object per line, keys in the order of the columns, JSON values as they were received."""

    def write_formatted_rows(self, frame: pl.DataFrame, out: BytesIO) -> None:
        lines = frame.select(pl.concat_str(self._object_line_expressions()))
        lines.write_csv(out, include_header=False, quote_style="never")

    def _object_line_expressions(self) -> list[pl.Expr]:
        """Returns expressions of a line: plain columns encoded together, raw values between them."""
        pieces: list[pl.Expr] = []
        run: list[str] = []
        for column in self._columns:
            if column.format not in _RAW_JSON_CELLS:
                run.append(column.name)
                continue
            pieces += [*_encode_columns(run), _raw_json(column.name)]
            run = []
        pieces += _encode_columns(run)
        between = chain.from_iterable((pl.lit(","), piece) for piece in pieces)
        return [pl.lit("{"), *islice(between, 1, None), pl.lit("}")]


def _encode_columns(names: list[str]) -> list[pl.Expr]:
    """Returns expressions of plain columns as the members of an object."""
    return (
        [pl.struct(names).struct.json_encode().str.strip_prefix("{").str.strip_suffix("}")] if names else []
    )


def _raw_json(name: str) -> pl.Expr:
    return pl.lit(f'"{name}":') + pl.col(name).fill_null("null")
