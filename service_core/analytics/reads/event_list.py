"""`GET /events`: event rows."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final
from uuid import UUID

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.measures import FilterOperator, Predicate, property_column
from service_core.analytics.ports import EventPageQuery, EventPageResult, EventReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.parse_filters import (
    MAX_FILTERS,
    equals_label_or_is_not_set,
    parse_operand_for_operator,
    parse_operator,
)
from service_core.analytics.range_query import RangeQuery
from service_core.analytics.reads.event_row import (
    EventRowList,
    build_event_row_in_major_units,
)
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel

_EXACT_MATCH_PARAMS: Final = (
    "visitor_id", "user_id", "session_id", "source", "attribution_source", "channel", "utm_source",
    "utm_medium", "utm_campaign", "lyr", "country", "device_type",
)  # fmt: skip
_CODE: Final = "invalid_property_filters"
_FIELD: Final = "property_filters"


class EventsQuery(RowSelection, RangeQuery):
    """Parameters of `GET /events`."""

    limit: Annotated[int, Clamp(1, 1000)] = 100
    offset: Annotated[int, Clamp(0, 1_000_000_000)] = 0
    event_name: str | None = Field(default=None, description="Exact; a comma list means any of them.")
    visitor_id: str | None = Field(default=None, description="Exact.")
    user_id: str | None = Field(default=None, description="Exact.")
    session_id: str | None = Field(default=None, description="Exact.")
    source: str | None = Field(default=None, description="Transport, exact.")
    attribution_source: str | None = Field(default=None, description="Origin, exact.")
    channel: str | None = Field(default=None, description="Exact.")
    utm_source: str | None = Field(default=None, description="Exact.")
    utm_medium: str | None = Field(default=None, description="Exact.")
    utm_campaign: str | None = Field(default=None, description="Exact.")
    lyr: str | None = Field(default=None, description="Link tag, exact.")
    country: str | None = Field(default=None, description="Exact.")
    device_type: str | None = Field(default=None, description="Exact.")
    property_filters: str | None = Field(
        default=None,
        description="JSON: an array of 1 to 10 `{key, op, value}` on `event_data`, or an object `{key: value}`.",
    )
    segment_id: UUID | None = Field(default=None, description="A segment, whose filters apply, too.")
    include_total: bool = Field(default=False, description="Count exactly, at the cost of a second read.")

    def filter_predicates(self) -> tuple[Predicate, ...]:
        """Returns all conditions of the request."""
        exact = [
            equals_label_or_is_not_set(column, value)
            for column in _EXACT_MATCH_PARAMS
            if (value := getattr(self, column))
        ]
        names = tuple(name.strip() for name in (self.event_name or "").split(",") if name.strip())
        by_name = [Predicate("event_name", FilterOperator.IN, names)] if names else []
        return (*exact, *by_name, *parse_1_to_10_property_filters(self.property_filters))

    def page_query_counting_total_if_cheap(
        self, caller: Caller, segment: Sequence[Predicate] = ()
    ) -> EventPageQuery:
        """Returns the query of the page; matches are not counted if a lower bound suffices.

        Args:
            caller: whose workspace is read.
            segment: the conditions of the segment.
        """
        return EventPageQuery(
            scope=scope_for_caller(
                caller,
                self.resolve_range_or_default(caller).span,
                filters=(*self.filter_predicates(), *segment),
                include_bots=self.include_bots,
            ),
            limit=self.limit,
            offset=self.offset,
            count_total=self.include_total or self.property_filters is None,
        )


class EventListResponse(ResponseModel):
    """A page of event rows, newest first."""

    events: EventRowList
    total_count: int
    total_count_is_lower_bound: bool
    has_more: bool
    limit: int
    offset: int
    range: RangeResponse
    complete: bool


@operation("GET /events", tag="events", tool="list_events")
async def get_events(
    query: EventsQuery,
    *,
    caller: Caller,
    event_reader: EventReader,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> EventListResponse:
    """Returns event rows, newest first.

    With `property_filters` and without `include_total`, `total_count` is a lower bound until the last page.
    """
    segment = await queries.read_segment_event_conditions(caller, query.segment_id)
    page = await _read_page_counting_past_the_end(
        event_reader, query.page_query_counting_total_if_cheap(caller, segment)
    )
    date_range = query.resolve_range_or_default(caller)
    return EventListResponse(
        events=[build_event_row_in_major_units(event) for event in page.events],
        total_count=query.offset + len(page.events) if page.total is None else page.total,
        total_count_is_lower_bound=page.total is None and page.has_more,
        has_more=page.has_more,
        limit=query.limit,
        offset=query.offset,
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


async def _read_page_counting_past_the_end(
    event_reader: EventReader, query: EventPageQuery
) -> EventPageResult:
    """Returns the page. After the last page the number of matches is unknown, so it is counted."""
    page = await event_reader.list_events(query)
    is_behind = page.total is None and query.offset and not page.events
    return await event_reader.list_events(replace(query, count_total=True)) if is_behind else page


def parse_1_to_10_property_filters(json_text: str | None) -> tuple[Predicate, ...]:
    """Returns the conditions on ``event_data``.

    Raises:
        BadRequest: ``invalid_property_filters``, if they do not parse or are too many.
    """
    if json_text is None:
        return ()
    try:
        conditions = json.loads(json_text)
    except (ValueError, RecursionError):
        raise _invalid_filter("property_filters must be JSON") from None
    if isinstance(conditions, dict):
        conditions = [{"key": key, "value": value} for key, value in conditions.items()]
    if not isinstance(conditions, list) or not 1 <= len(conditions) <= MAX_FILTERS:
        raise _invalid_filter(f"property_filters takes 1 to {MAX_FILTERS} filters")
    return tuple(_parse_property_filter_or_bad_request(condition) for condition in conditions)


def _parse_property_filter_or_bad_request(condition: Any) -> Predicate:
    if not isinstance(condition, dict) or not condition.keys() <= {"key", "op", "value"}:
        raise _invalid_filter("A property filter is {key, op, value}")
    key, op = condition.get("key"), condition.get("op", "eq")
    if not isinstance(key, str) or not key or not isinstance(op, str):
        raise _invalid_filter("A property filter needs a key")
    operator = parse_operator(op, _CODE, _FIELD)
    return Predicate(
        property_column(key),
        operator,
        parse_operand_for_operator(operator, condition.get("value"), _CODE, _FIELD),
    )


def _invalid_filter(message: str) -> BadRequest:
    return BadRequest(message, _CODE, field=_FIELD)


OPERATIONS = (get_events,)
