"""Event values to columns: one list per field, ten thousand events in a few hundredths of a second.

The data frame library loads with this module, at the first append, so an idle store does without it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import polars as pl

from plugins.events_sql.links import said
from plugins.events_sql.rows import stored
from plugins.events_sql.tables import BATCH, JSON_COLUMNS, plain
from service_core.plugin import COLUMNS, Event

_POLARS: Final[Mapping[Any, Any]] = {int: pl.Int64, bool: pl.Boolean}


def columns(events: Sequence[Event]) -> pl.DataFrame:
    """The events with the columns of `tables.BATCH`; times naive UTC, workspaces and collections as text."""
    facts = [_series(f.name, plain(f.type), list(map(attrgetter(f.name), events))) for f in COLUMNS]
    place = pl.Series("row_no", range(len(events)), dtype=pl.Int64)
    told = pl.DataFrame(list(map(said, events)), schema=_SAID, orient="row")
    return pl.DataFrame([place, *facts, *told.get_columns()]).select(c.name for c in BATCH.columns)


def rows(events: Sequence[Event]) -> Iterator[tuple[Any, ...]]:
    """The events one by one, with the values of `columns`."""
    return iter(columns(events).iter_rows())


_SAID: Final = {"previous_id": pl.String, "web_visitor_id": pl.String, "carries": pl.Boolean}


def each_once(events: Iterable[Event], seconds: float) -> list[Event]:
    """Events without those that repeat an id of their batch less than ``seconds`` of receipt later."""
    latest: dict[tuple[UUID, str], datetime] = {}
    kept = []
    for event in sorted(events, key=attrgetter("received_at", "seq")):
        key = event.workspace_id, event.event_id
        if key not in latest or (event.received_at - latest[key]).total_seconds() >= seconds:
            kept.append(event)
        latest[key] = event.received_at
    return kept


def _series(name: str, kind: Any, values: list[Any]) -> pl.Series:
    """A column of one field."""
    if kind is datetime:
        seconds = pl.Series(name, [value.timestamp() for value in values], dtype=pl.Float64)
        return (seconds * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    if kind is UUID:
        texts = {value: str(value) for value in set(values)}
        values = [texts[value] for value in values]
    elif name in JSON_COLUMNS:
        values = [stored(name, value) for value in values]
    return pl.Series(name, values, dtype=_POLARS.get(kind, pl.String))
