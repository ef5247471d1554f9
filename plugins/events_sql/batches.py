"""Event values to columns: one list per field, ten thousand events in a few hundredths of a second.

The data frame library loads with this module, at the first append, so an idle store does without it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import orjson
import polars as pl

from plugins.events_sql.persons import ALIAS, MATCHED
from plugins.events_sql.tables import BATCH, JSON_COLUMNS, plain
from service_core.plugin import COLUMNS, Event

_POLARS: Final[Mapping[Any, Any]] = {int: pl.Int64, bool: pl.Boolean}
_EMPTY: Final = {name: "[]" if name == "bot_reasons" else "{}" for name in JSON_COLUMNS}


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


def said(event: Event) -> tuple[str | None, str | None, bool]:
    """What an event tells about persons: the id an alias ends, the visitor a match names, any carried id."""
    if event.is_bot:
        return None, None, False
    data = event.event_data
    previous = _text(data, "previous_id") if event.event_name == ALIAS else None
    matches = event.event_name == MATCHED and data.get("match_method") == "email"
    web_visitor = _text(data, "web_visitor_id") if matches else None
    return previous, web_visitor, matches or event.external_ids is not None


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


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
        values = [None if value is None else _json(value) if value else _EMPTY[name] for value in values]
    return pl.Series(name, values, dtype=_POLARS.get(kind, pl.String))


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
