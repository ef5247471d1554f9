"""Writes tables as Arrow streams with Polars."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from service_core.kernel.answer_table import AnswerTable, CellType, ColumnType


def encode_arrow_stream(table: AnswerTable) -> bytes:
    """Returns the rows as an Arrow stream with typed columns. The first call imports Polars, which takes a while."""
    import polars as pl  # noqa: PLC0415 - only this format needs it

    values = zip(*table.rows, strict=True) if table.rows else (() for _ in table.columns)
    frame = pl.DataFrame(
        [
            pl.Series(name, _convert_cells(type_, cells), dtype=_polars_type(type_))
            for name, type_, cells in zip(table.columns, table.types, values, strict=True)
        ]
    )
    out = frame.write_ipc_stream(None, compat_level=pl.CompatLevel.oldest())
    assert out is not None
    return out.getvalue()


def _polars_type(type_: ColumnType) -> Any:
    import polars as pl  # noqa: PLC0415 - see above

    types = {
        CellType.TEXT: pl.String,
        CellType.INTEGER: pl.Int64,
        CellType.FLOAT: pl.Float64,
        CellType.DECIMAL: pl.Decimal(38, type_.decimals),
        CellType.FLAG: pl.Boolean,
        CellType.INSTANT: pl.Datetime("ms", "UTC"),
        CellType.DATE: pl.Date,
        CellType.LOCAL_TIME: pl.Datetime("ms"),
    }
    return types[type_.cell]


_CONVERTERS: Final[Mapping[CellType, Callable[[Any], Any]]] = {
    CellType.TEXT: str,
    CellType.FLOAT: float,
    CellType.DECIMAL: lambda number: Decimal(str(number)),
    CellType.INSTANT: lambda instant: instant.astimezone(UTC),
    CellType.DATE: date.fromisoformat,
    CellType.LOCAL_TIME: datetime.fromisoformat,
}
"""Converts values of an answer to those of its typed columns; other values stay."""


def _convert_cells(type_: ColumnType, cells: Iterable[Any]) -> list[Any]:
    convert = _CONVERTERS.get(type_.cell)
    return list(cells) if convert is None else [cell if cell is None else convert(cell) for cell in cells]
