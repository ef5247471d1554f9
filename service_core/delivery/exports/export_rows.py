"""Rows and columns of each export type; they equal those of the read endpoint."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType, UnionType
from typing import Any, Final, Union, get_args, get_origin

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution_reads.operations import AttributionQuery, get_attribution
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.fx.convert import CurrencyConverter
from service_core.analytics.measures import Predicate
from service_core.analytics.people.ports import PeoplePageQuery, Person
from service_core.analytics.people.schemas import UserRow, user_row_fields_from_first_touch
from service_core.analytics.ports import AggregateReader, TouchPathReader
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.reads.event_list import EventsQuery
from service_core.analytics.reads.export_streams import RowBatch, RowStreams
from service_core.delivery.exports.filters import Query
from service_core.delivery.exports.models import ExportType
from service_core.delivery.exports.table import CellFormat, ExportColumn, ExportTable
from service_core.ingestion.models import COLUMNS, WIRE_COLUMNS
from service_core.ingestion.ports import IngestQueue

UNATTRIBUTED: Final = "unattributed"

_CELL_FORMATS: Final[Mapping[Any, CellFormat]] = {
    str: CellFormat.TEXT,
    int: CellFormat.INTEGER,
    bool: CellFormat.FLAG,
    datetime: CellFormat.INSTANT,
    Decimal: CellFormat.DECIMAL,
}


def _cell_format(annotation: Any) -> CellFormat:
    """Returns the cell format of a field's type; non-scalar types are JSON."""
    choices = get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
    (kind,) = (choice for choice in choices if choice is not type(None))
    return _CELL_FORMATS.get(kind, CellFormat.JSON)


EVENT_COLUMNS: Final = tuple(
    ExportColumn(f.name, CellFormat.MONEY if f.name == "revenue" else _cell_format(f.type))
    for f in COLUMNS[: len(WIRE_COLUMNS)]
)
USER_COLUMNS: Final = tuple(
    ExportColumn(name, _cell_format(f.annotation)) for name, f in UserRow.model_fields.items()
)
CHANNEL_COLUMNS: Final = (
    ExportColumn("channel", CellFormat.TEXT),
    ExportColumn("visitors", CellFormat.INTEGER),
    ExportColumn("sessions", CellFormat.INTEGER),
    *(
        ExportColumn(name, CellFormat.DECIMAL)
        for name in ("conversions", "revenue", "net_revenue", "conversion_rate", "revenue_per_visitor")
    ),
)

MAX_ROWS: Final[Mapping[ExportType, int]] = MappingProxyType(
    {ExportType.EVENTS: 1_000_000, ExportType.USERS: 100_000, ExportType.ATTRIBUTION: 1_000_000}
)
"""Rows a file may hold."""


@dataclass(frozen=True, slots=True)
class ExportRows:
    """Opens the rows of an export.

    Attributes:
        streams: the event store, for rows too many for a page.
        aggregates, paths, models, queue: what the report of attribution asks.
        catalog: the dimensions of segments.
        max_rows: rows a file may hold, by type.
    """

    streams: RowStreams
    aggregates: AggregateReader
    rated: CurrencyConverter
    paths: TouchPathReader
    models: AttributionModels
    queue: IngestQueue
    catalog: Catalog
    max_rows: Mapping[ExportType, int] = field(default_factory=lambda: MAX_ROWS)

    def build_lazy_export_table(
        self, query: Query, caller: Caller, segment: Sequence[Predicate] = ()
    ) -> ExportTable:
        """Returns the table of a query; nothing is read before its batches are iterated.

        Args:
            query: the query of the read endpoint.
            caller: whose workspace is read.
            segment: the conditions of the segment of events.
        """
        if isinstance(query, EventsQuery):
            most = self.max_rows[ExportType.EVENTS]
            return ExportTable(
                EVENT_COLUMNS,
                self.streams.stream_events_newest_first(
                    query.page_query_counting_total_if_cheap(caller, segment).scope, most + 1
                ),
                most,
            )
        if isinstance(query, AttributionQuery):
            most = self.max_rows[ExportType.ATTRIBUTION]
            return ExportTable(CHANNEL_COLUMNS, self._channel_batches_with_unattributed(query, caller), most)
        most = self.max_rows[ExportType.USERS]
        persons = self._person_batches_with_fx_rates(
            query.to_people_page_query(caller, limit_override=most + 1)
        )
        return ExportTable(USER_COLUMNS, _user_batches(persons, caller.workspace.currency), most)

    async def _person_batches_with_fx_rates(
        self, page: PeoplePageQuery
    ) -> AsyncGenerator[Sequence[Person], None]:
        rated = replace(page, scope=await self.rated.add_rates_of_foreign_payments(page.scope))
        async with aclosing(self.streams.stream_persons_of_page(rated)) as batches:
            async for batch in batches:
                yield batch

    async def _channel_batches_with_unattributed(
        self, query: AttributionQuery, caller: Caller
    ) -> AsyncGenerator[RowBatch, None]:
        report = await get_attribution(
            query,
            caller=caller,
            aggregate_reader=self.aggregates,
            path_reader=self.paths,
            models=self.models,
            freshness=EventFreshness(self.queue),  # no column says whether a range is complete
            queries=MetricQueries(
                self.catalog, sources=()
            ),  # for segments, which no export of attribution has
        )
        without_touch = dict.fromkeys(column.name for column in CHANNEL_COLUMNS)
        rest = {**without_touch, **dict(report.unattributed), "channel": UNATTRIBUTED}
        yield _batch_from_rows([*map(dict, report.channels), rest], CHANNEL_COLUMNS)


async def _user_batches(
    persons: AsyncGenerator[Sequence[Person], None], currency: str
) -> AsyncGenerator[RowBatch, None]:
    async for some in persons:
        yield _batch_from_rows(
            [user_row_fields_from_first_touch(person, currency) for person in some], USER_COLUMNS
        )


def _batch_from_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[ExportColumn]) -> RowBatch:
    return {c.name: [_format_cell(c.format, row[c.name]) for row in rows] for c in columns}


def _format_cell(cell_format: CellFormat, value: Any) -> Any:
    """Returns a value of a response as an export batch holds it."""
    if value is None:
        return None
    if cell_format is CellFormat.JSON:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return format(value, "f") if cell_format is CellFormat.DECIMAL else value
