"""What each type of export holds: the rows of its read endpoint, column for column (contract 6)."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from service_core.access.model import Caller
from service_core.delivery.exports.filters import Query
from service_core.delivery.exports.model import Subject
from service_core.delivery.exports.table import Cell, Column, Table
from service_core.insight.attribution.model import Models
from service_core.insight.attribution.operations import AttributionQuery, get_attribution
from service_core.insight.events import EventsQuery
from service_core.insight.fx.rated import Rated
from service_core.insight.people.answers import UserRow, row_of
from service_core.insight.people.ports import PeoplePage, Person
from service_core.insight.ports import Aggregates, Paths
from service_core.insight.streams import Batch, Streams
from service_core.intake.model import COLUMNS, WIRE_COLUMNS
from service_core.intake.ports import IngestQueue

UNATTRIBUTED: Final = "unattributed"

_CELLS: Final[Mapping[Any, Cell]] = {
    str: Cell.TEXT,
    int: Cell.INTEGER,
    bool: Cell.FLAG,
    datetime: Cell.INSTANT,
    Decimal: Cell.DECIMAL,
}


def _cell(declared: Any) -> Cell:
    """The form of a field by its type; whatever is no scalar is JSON."""
    choices = get_args(declared) if get_origin(declared) in {Union, UnionType} else (declared,)
    (kind,) = (choice for choice in choices if choice is not type(None))
    return _CELLS.get(kind, Cell.JSON)


EVENT_COLUMNS: Final = tuple(
    Column(f.name, Cell.MONEY if f.name == "revenue" else _cell(f.type)) for f in COLUMNS[: len(WIRE_COLUMNS)]
)
USER_COLUMNS: Final = tuple(Column(name, _cell(f.annotation)) for name, f in UserRow.model_fields.items())
CHANNEL_COLUMNS: Final = (
    Column("channel", Cell.TEXT),
    Column("visitors", Cell.INTEGER),
    Column("sessions", Cell.INTEGER),
    *(
        Column(name, Cell.DECIMAL)
        for name in ("conversions", "revenue", "net_revenue", "conversion_rate", "revenue_per_visitor")
    ),
)

MOST_ROWS: Final[Mapping[Subject, int]] = MappingProxyType(
    {Subject.EVENTS: 1_000_000, Subject.USERS: 100_000, Subject.ATTRIBUTION: 1_000_000}
)
"""Rows a file may hold (contract 14)."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Opens the rows of an export.

    Attributes:
        streams: the event store, for rows too many for a page.
        aggregates, paths, models, queue: what the report of attribution asks.
        most_rows: rows a file may hold, by type.
    """

    streams: Streams
    aggregates: Aggregates
    rated: Rated
    paths: Paths
    models: Models
    queue: IngestQueue
    most_rows: Mapping[Subject, int] = field(default_factory=lambda: MOST_ROWS)

    def table(self, query: Query, who: Caller) -> Table:
        """The table a question means; nothing is read before its batches are asked for."""
        if isinstance(query, EventsQuery):
            most = self.most_rows[Subject.EVENTS]
            return Table(EVENT_COLUMNS, self.streams.event_batches(query.page(who).scan, most + 1), most)
        if isinstance(query, AttributionQuery):
            most = self.most_rows[Subject.ATTRIBUTION]
            return Table(CHANNEL_COLUMNS, self._channels(query, who), most)
        most = self.most_rows[Subject.USERS]
        persons = self._persons(query.page(who, limit=most + 1))
        return Table(USER_COLUMNS, _users(persons, who.workspace.currency), most)

    async def _persons(self, page: PeoplePage) -> AsyncGenerator[Sequence[Person], None]:
        rated = replace(page, scan=await self.rated.scan(page.scan))
        async with aclosing(self.streams.person_batches(rated)) as batches:
            async for batch in batches:
                yield batch

    async def _channels(self, query: AttributionQuery, who: Caller) -> AsyncGenerator[Batch, None]:
        report = await get_attribution(
            query,
            who=who,
            aggregates=self.aggregates,
            paths=self.paths,
            models=self.models,
            queue=self.queue,
        )
        nobody = dict.fromkeys(column.name for column in CHANNEL_COLUMNS)
        rest = {**nobody, **dict(report.unattributed), "channel": UNATTRIBUTED}
        yield _batch([*map(dict, report.channels), rest], CHANNEL_COLUMNS)


async def _users(
    persons: AsyncGenerator[Sequence[Person], None], currency: str
) -> AsyncGenerator[Batch, None]:
    async for some in persons:
        yield _batch([row_of(person, currency) for person in some], USER_COLUMNS)


def _batch(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Batch:
    return {c.name: [_spelled(c.cell, row[c.name]) for row in rows] for c in columns}


def _spelled(cell: Cell, value: Any) -> Any:
    """A value of an answer as a batch holds it."""
    if value is None:
        return None
    if cell is Cell.JSON:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return format(value, "f") if cell is Cell.DECIMAL else value
