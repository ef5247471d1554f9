"""Event values to columns: one list per field, handed to the engine through Arrow's C stream.

No pyarrow is needed; ten thousand events take a few hundredths of a second. The data frame library
loads with this module, at the first append, so an idle store does without it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import orjson
import polars as pl

from plugins.events_sql.tables import JSON_COLUMNS, plain
from service_core.plugin import COLUMNS, Event

_POLARS: Final[Mapping[Any, Any]] = {int: pl.Int64, bool: pl.Boolean}


_EMPTY: Final = {name: "[]" if name == "bot_reasons" else "{}" for name in JSON_COLUMNS}


class Stream:
    """A data frame as an Arrow stream: all the engine needs to scan it by name."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def stream(events: Sequence[Event]) -> Stream:
    """The events as a table with the columns of `Event` and ``row_no``, their place in the batch."""
    columns = [_series(f.name, plain(f.type), list(map(attrgetter(f.name), events))) for f in COLUMNS]
    return Stream(pl.DataFrame([pl.Series("row_no", range(len(events)), dtype=pl.Int64), *columns]))


def _series(name: str, kind: Any, values: list[Any]) -> pl.Series:
    """A column; times naive UTC, workspaces and collections as text."""
    if kind is datetime:
        seconds = pl.Series(name, [value.timestamp() for value in values], dtype=pl.Float64)
        return (seconds * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    if kind is UUID:
        texts = {value: str(value) for value in set(values)}
        values = [texts[value] for value in values]
    elif name in JSON_COLUMNS:
        values = [None if value is None else _json(value) if value else _EMPTY[name] for value in values]
    return pl.Series(name, values, dtype=_POLARS.get(kind, pl.String))


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
