"""Export files by Polars: every cell formatted by column expressions, batch by batch (contract 6)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import reduce
from io import BytesIO
from itertools import chain, islice
from typing import Any, Final

import polars as pl

from service_core.delivery.exports.model import Format
from service_core.delivery.exports.table import Cell, Column, Renderer
from service_core.insight.streams import Batch
from service_core.kernel.money import exponent

_KINDS: Final[Mapping[Cell, Any]] = {
    Cell.INTEGER: pl.Int64,
    Cell.FLAG: pl.Boolean,
    Cell.INSTANT: pl.Datetime("us"),
    Cell.MONEY: pl.Int64,
}
"""What a column of a batch is, where it is not text."""

PIECE: Final = 5_000
"""Rows formatted at a time: what formatting needs besides the rows stays a few megabytes."""

_WIRE: Final = "%Y-%m-%dT%H:%M:%S%.3fZ"
_RUN_BY_SPREADSHEETS: Final = r"^[=+\-@\t\r]"
_RAW: Final = frozenset({Cell.JSON, Cell.MONEY, Cell.DECIMAL})
"""Cells whose text is JSON as it is."""


def renderer(form: Format, columns: Sequence[Column]) -> Renderer:
    """A renderer of the format."""
    return _Csv(columns) if form is Format.CSV else _Ndjson(columns)


class _Sheet(ABC):
    """Batches as frames with the columns of the file, times and money spelled out."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._spelled = [_SPELLED[c.cell](c.name) for c in columns if c.cell in _SPELLED]

    def header(self) -> bytes:
        return b""

    def rows(self, batch: Batch, most: int) -> tuple[bytes, int]:
        """The bytes of the first ``most`` rows, and how many the batch has."""
        frame = self._frame(batch)
        out = BytesIO()
        for piece in frame.head(most).iter_slices(PIECE):
            self.write(piece.with_columns(self._spelled), out)
        return out.getvalue(), len(frame)

    @abstractmethod
    def write(self, frame: pl.DataFrame, out: BytesIO) -> None:
        """Write the rows of a frame."""

    def _frame(self, batch: Batch) -> pl.DataFrame:
        if not isinstance(batch, Mapping):
            return pl.DataFrame(batch)
        return pl.DataFrame([_series(column, batch[column.name]) for column in self._columns])


def _series(column: Column, values: Sequence[Any]) -> pl.Series:
    if column.cell is not Cell.INSTANT:
        return pl.Series(column.name, values, dtype=_KINDS.get(column.cell, pl.String))
    return pl.Series(column.name, map(_naive, values), dtype=_KINDS[Cell.INSTANT])


def _naive(instant: datetime | None) -> datetime | None:
    return (
        instant if instant is None or instant.tzinfo is None else instant.astimezone(UTC).replace(tzinfo=None)
    )


def _instant(name: str) -> pl.Expr:
    return pl.col(name).dt.strftime(_WIRE)


def _money(name: str) -> pl.Expr:
    """Minor units as an exact decimal in the decimals of the row's currency; an amount without one stays."""
    amount, decimals = pl.col(name), pl.col("currency").map_batches(_decimals, return_dtype=pl.Int64)
    choices: list[tuple[int, pl.Expr]] = [(places, _pointed(amount, places)) for places in (2, 3, 4)]
    text = reduce(
        lambda other, choice: pl.when(decimals == choice[0]).then(choice[1]).otherwise(other),
        choices,
        amount.cast(pl.String),
    )
    return text.alias(name)


def _pointed(amount: pl.Expr, places: int) -> pl.Expr:
    """``-5`` with two places is ``-0.05``."""
    digits = amount.abs().cast(pl.String).str.zfill(places + 1)
    sign = pl.when(amount < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return sign + digits.str.head(-places) + "." + digits.str.tail(places)


def _decimals(currencies: pl.Series) -> pl.Series:
    known = {code: exponent(code) for code in currencies.unique().drop_nulls()}
    return currencies.replace_strict(known, default=0, return_dtype=pl.Int64)


_SPELLED: Final[Mapping[Cell, Callable[[str], pl.Expr]]] = {Cell.INSTANT: _instant, Cell.MONEY: _money}


class _Csv(_Sheet):
    """RFC 4180 with a header and CRLF; text that a spreadsheet would run gets an apostrophe."""

    def header(self) -> bytes:
        return ",".join(column.name for column in self._columns).encode() + b"\r\n"

    def write(self, frame: pl.DataFrame, out: BytesIO) -> None:
        inert = [_inert(c.name) if c.cell is Cell.TEXT else pl.col(c.name) for c in self._columns]
        frame.select(inert).write_csv(out, include_header=False, line_terminator="\r\n", null_value="")


def _inert(name: str) -> pl.Expr:
    text = pl.col(name)
    return pl.when(text.str.contains(_RUN_BY_SPREADSHEETS)).then("'" + text).otherwise(text).alias(name)


class _Ndjson(_Sheet):
    """One object per line, keys in the order of the columns, JSON values inside as they were sent."""

    def write(self, frame: pl.DataFrame, out: BytesIO) -> None:
        lines = frame.select(pl.concat_str(self._pieces()))
        lines.write_csv(out, include_header=False, quote_style="never")

    def _pieces(self) -> list[pl.Expr]:
        """Runs of plain columns encoded together, raw values between them."""
        pieces: list[pl.Expr] = []
        run: list[str] = []
        for column in self._columns:
            if column.cell not in _RAW:
                run.append(column.name)
                continue
            pieces += [*_encoded(run), _raw(column.name)]
            run = []
        pieces += _encoded(run)
        between = chain.from_iterable((pl.lit(","), piece) for piece in pieces)
        return [pl.lit("{"), *islice(between, 1, None), pl.lit("}")]


def _encoded(names: list[str]) -> list[pl.Expr]:
    """A run of columns as the inside of an object."""
    return (
        [pl.struct(names).struct.json_encode().str.strip_prefix("{").str.strip_suffix("}")] if names else []
    )


def _raw(name: str) -> pl.Expr:
    return pl.lit(f'"{name}":') + pl.col(name).fill_null("null")
