"""Converts events to a Polars frame, a column at a time: values that several events share are converted once.

Polars is imported with this module, at the first append, so an idle store does not load it.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import polars as pl

from plugins.events_sql.identity.identity_links import IDENTITY_EVENTS, read_alias_and_email_match_unless_bot
from plugins.events_sql.schema.row_mapping import to_column_value
from plugins.events_sql.schema.tables import BATCH, JSON_COLUMNS, without_none
from service_core.plugin import COLUMNS, WEB, ColumnGroup, Event, EventColumns, SupersededEvent

_POLARS_TYPES: Final[Mapping[Any, Any]] = {int: pl.Int64, bool: pl.Boolean}
_FIELD_TYPES: Final = {f.name: without_none(f.type) for f in COLUMNS}


def events_to_frame(events: Sequence[Event]) -> pl.DataFrame:
    """Returns the events with the columns of `tables.BATCH`; timestamps are naive UTC, workspaces and collections text."""
    columns = EventColumns.of_events(events)
    place = pl.Series("row_no", range(len(columns)), dtype=pl.Int64)
    facts = [series for group in columns.groups for series in _group_series(group)]
    return pl.DataFrame([place, *facts, *_identity_series(columns)]).select(c.name for c in BATCH.columns)


def _group_series(group: ColumnGroup) -> Iterator[pl.Series]:
    """Yields the columns of a group; each distinct value is converted once."""
    positions = None if group.positions is None else pl.Series(group.positions, dtype=pl.UInt32)
    values = list(zip(*group.rows, strict=True)) or [()] * len(group.names)
    for name, column in zip(group.names, values, strict=True):
        series = _column_series(name, _FIELD_TYPES[name], column)
        yield series if positions is None else series.gather(positions)


def _identity_series(columns: EventColumns) -> list[pl.Series]:
    """Returns the identity assertions of the events; only a few events make any."""
    previous: list[str | None] = [None] * len(columns)
    web_visitor: list[str | None] = [None] * len(columns)
    carries = [False] * len(columns)
    named = zip(columns.column("event_name"), columns.column("external_ids"), strict=True)
    for place, (name, external_ids) in enumerate(named):
        if external_ids or name in IDENTITY_EVENTS:
            previous[place], web_visitor[place], carries[place] = read_alias_and_email_match_unless_bot(
                columns[place]
            )
    return [
        pl.Series("previous_id", previous, dtype=pl.String),
        pl.Series("web_visitor_id", web_visitor, dtype=pl.String),
        pl.Series("carries", carries, dtype=pl.Boolean),
    ]


class UniqueEvents(NamedTuple):
    """The events of a batch without repeats, and those that an event of the batch supersedes."""

    events: list[Event]
    superseded: list[SupersededEvent]


class UniquePlaces(NamedTuple):
    """The places in a batch of its events without repeats, in order of receipt, and of those that another supersedes.

    Attributes:
        superseded: places, each with the sequence number of the event that supersedes it.
    """

    places: list[int]
    superseded: list[tuple[int, int]]


def drop_ids_repeated_within(events: Sequence[Event], window_seconds: float) -> UniqueEvents:
    """Returns the events of `places_without_ids_repeated_within`."""
    places, superseded = places_without_ids_repeated_within(EventColumns.of_events(events), window_seconds)
    return UniqueEvents(
        [events[place] for place in places],
        [SupersededEvent(events[place], seq) for place, seq in superseded],
    )


def places_without_ids_repeated_within(columns: EventColumns, window_seconds: float) -> UniquePlaces:
    """Returns the remaining events, in order of receipt, and those that another of them supersedes.

    An event is dropped if its id was received less than ``window_seconds`` before. A dropped event counts as received, too: a chain of repeats is one event. The first of a sender with a key takes the
    place of one without, and supersedes it.
    """
    received, seqs = columns.column("received_at"), columns.column("seq")
    order = sorted(range(len(columns)), key=list(zip(received, seqs, strict=True)).__getitem__)
    event_ids = columns.column("event_id")
    if len(set(event_ids)) == len(event_ids):
        return UniquePlaces(order, [])
    workspaces, sources = columns.column("workspace_id"), columns.column("source")
    superseded: list[tuple[int, int]] = []
    latest: dict[tuple[UUID, str], datetime] = {}
    position_by_id: dict[tuple[UUID, str], int] = {}
    unique: list[int] = []
    for place in order:
        key = workspaces[place], event_ids[place]
        if key not in latest or (received[place] - latest[key]).total_seconds() >= window_seconds:
            position_by_id[key] = len(unique)
            unique.append(place)
        elif sources[earlier := unique[position_by_id[key]]] == WEB != sources[place]:
            superseded.append((earlier, seqs[place]))
            unique[position_by_id[key]] = place
        latest[key] = received[place]
    return UniquePlaces(unique, superseded)


def _column_series(field_name: str, field_type: Any, field_values: Sequence[Any]) -> pl.Series:
    """Returns the Polars column of one field."""
    if field_type is datetime:
        seconds = pl.Series(field_name, [value.timestamp() for value in field_values], dtype=pl.Float64)
        return (seconds * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))
    if field_type is UUID:
        texts = {number: str(UUID(int=number)) for number in {value.int for value in field_values}}
        field_values = [texts[value.int] for value in field_values]
    elif field_name in JSON_COLUMNS:
        field_values = [to_column_value(field_name, value) for value in field_values]
    return pl.Series(field_name, field_values, dtype=_POLARS_TYPES.get(field_type, pl.String))
