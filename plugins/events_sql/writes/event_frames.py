"""Converts events to a Polars frame, one list per field: ten thousand events take a few hundredths of a second.

Polars is imported with this module, at the first append, so an idle store does not load it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

import polars as pl

from plugins.events_sql.identity.identity_links import read_identity_links
from plugins.events_sql.schema.row_mapping import to_column_value
from plugins.events_sql.schema.tables import BATCH, JSON_COLUMNS, without_none
from service_core.plugin import COLUMNS, WEB, Event, SupersededEvent

_POLARS_TYPES: Final[Mapping[Any, Any]] = {int: pl.Int64, bool: pl.Boolean}


def events_to_frame(events: Sequence[Event]) -> pl.DataFrame:
    """Returns the events with the columns of `tables.BATCH`; timestamps are naive UTC, workspaces and collections text."""
    facts = [
        _column_series(f.name, without_none(f.type), list(map(attrgetter(f.name), events))) for f in COLUMNS
    ]
    place = pl.Series("row_no", range(len(events)), dtype=pl.Int64)
    identity = pl.DataFrame(list(map(read_identity_links, events)), schema=_IDENTITY_SCHEMA, orient="row")
    return pl.DataFrame([place, *facts, *identity.get_columns()]).select(c.name for c in BATCH.columns)


_IDENTITY_SCHEMA: Final = {"previous_id": pl.String, "web_visitor_id": pl.String, "carries": pl.Boolean}


class UniqueEvents(NamedTuple):
    """The events of a batch without repeats, and those that an event of the batch supersedes."""

    events: list[Event]
    superseded: list[SupersededEvent]


def drop_ids_repeated_within(events: Iterable[Event], window_seconds: float) -> UniqueEvents:
    """Returns the remaining events, in order of receipt, and those that another of them supersedes.

    An event is dropped if its id was received less than ``window_seconds`` before. A dropped event counts as received, too: a chain of repeats is one event. The first of a sender with a key takes the
    place of one without, and supersedes it.
    """
    superseded: list[SupersededEvent] = []
    latest: dict[tuple[UUID, str], datetime] = {}
    places: dict[tuple[UUID, str], int] = {}
    unique: list[Event] = []
    for event in sorted(events, key=attrgetter("received_at", "seq")):
        key = event.workspace_id, event.event_id
        if key not in latest or (event.received_at - latest[key]).total_seconds() >= window_seconds:
            places[key] = len(unique)
            unique.append(event)
        elif unique[places[key]].source == WEB != event.source:
            superseded.append(SupersededEvent(unique[places[key]], event.seq))
            unique[places[key]] = event
        latest[key] = event.received_at
    return UniqueEvents(unique, superseded)


def _column_series(field_name: str, field_type: Any, field_values: list[Any]) -> pl.Series:
    """Returns the Polars column of one field."""
    if field_type is datetime:
        seconds = pl.Series(field_name, [value.timestamp() for value in field_values], dtype=pl.Float64)
        return (seconds * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    if field_type is UUID:
        texts = {value: str(value) for value in set(field_values)}
        field_values = [texts[value] for value in field_values]
    elif field_name in JSON_COLUMNS:
        field_values = [to_column_value(field_name, value) for value in field_values]
    return pl.Series(field_name, field_values, dtype=_POLARS_TYPES.get(field_type, pl.String))
