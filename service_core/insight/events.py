"""`GET /events`: raw event rows (contract 3.5)."""

import json
from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import Field

from service_core.access.model import Caller
from service_core.insight.event_row import Rows, event_row
from service_core.insight.filtering import MOST_FILTERS, exactly, operand, operation_of
from service_core.insight.freshness import is_complete
from service_core.insight.measures import Op, Predicate
from service_core.insight.ports import EventLog, EventPage, Events
from service_core.insight.range_query import RangeQuery
from service_core.insight.scans import scan_of
from service_core.intake.ports import IngestQueue
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer, Clamp

_EXACT: Final = (
    "visitor_id", "user_id", "session_id", "source", "attribution_source", "channel", "utm_source",
    "utm_medium", "utm_campaign", "lyr", "country", "device_type",
)  # fmt: skip
_CODE: Final = "invalid_property_filters"
_FIELD: Final = "property_filters"


class EventsQuery(RangeQuery):
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
    include_total: bool = Field(default=False, description="Count exactly, at the cost of a second read.")

    def predicates(self) -> tuple[Predicate, ...]:
        """Every condition of the request."""
        exact = [exactly(column, value) for column in _EXACT if (value := getattr(self, column))]
        names = tuple(name.strip() for name in (self.event_name or "").split(",") if name.strip())
        named = [Predicate("event_name", Op.IN, names)] if names else []
        return (*exact, *named, *property_predicates(self.property_filters))

    def page(self, who: Caller) -> EventPage:
        """The plan of the page; counting all matches is left out where a lower bound will do."""
        return EventPage(
            scan=scan_of(
                who, self.asked(who).span, filters=self.predicates(), include_bots=self.include_bots
            ),
            limit=self.limit,
            offset=self.offset,
            total=self.include_total or self.property_filters is None,
        )


class EventRows(Answer):
    """A page of raw event rows, newest first."""

    events: Rows
    total_count: int
    total_count_is_lower_bound: bool
    has_more: bool
    limit: int
    offset: int
    range: RangeAnswer
    complete: bool


@operation("GET /events", tag="events")
async def get_events(query: EventsQuery, *, who: Caller, log: EventLog, queue: IngestQueue) -> EventRows:
    """Raw event rows, newest first.

    With `property_filters` and without `include_total`, `total_count` is a lower bound until the last page.
    """
    found = await _read(log, query.page(who))
    asked = query.asked(who)
    return EventRows(
        events=[event_row(event) for event in found.events],
        total_count=_total(query, found),
        total_count_is_lower_bound=found.total is None and found.has_more,
        has_more=found.has_more,
        limit=query.limit,
        offset=query.offset,
        range=RangeAnswer.of(asked),
        complete=await is_complete(queue, asked),
    )


async def _read(log: EventLog, plan: EventPage) -> Events:
    """The page; behind the last one nothing tells the number of matches, so it is counted."""
    found = await log.page(plan)
    is_behind = found.total is None and plan.offset and not found.events
    return await log.page(replace(plan, total=True)) if is_behind else found


def _total(query: EventsQuery, found: Events) -> int:
    return query.offset + len(found.events) if found.total is None else found.total


def property_predicates(sent: str | None) -> tuple[Predicate, ...]:
    """Conditions on ``event_data``.

    Raises:
        BadRequest: ``invalid_property_filters``, when they do not parse or are too many.
    """
    if sent is None:
        return ()
    try:
        conditions = json.loads(sent)
    except (ValueError, RecursionError):
        raise _invalid("property_filters must be JSON") from None
    if isinstance(conditions, dict):
        conditions = [{"key": key, "value": value} for key, value in conditions.items()]
    if not isinstance(conditions, list) or not 1 <= len(conditions) <= MOST_FILTERS:
        raise _invalid(f"property_filters takes 1 to {MOST_FILTERS} filters")
    return tuple(_property(condition) for condition in conditions)


def _property(condition: Any) -> Predicate:
    if not isinstance(condition, dict) or not condition.keys() <= {"key", "op", "value"}:
        raise _invalid("A property filter is {key, op, value}")
    key, op = condition.get("key"), condition.get("op", "eq")
    if not isinstance(key, str) or not key or not isinstance(op, str):
        raise _invalid("A property filter needs a key")
    known = operation_of(op, _CODE, _FIELD)
    return Predicate(f"data:{key}", known, operand(known, condition.get("value"), _CODE, _FIELD))


def _invalid(message: str) -> BadRequest:
    return BadRequest(message, _CODE, field=_FIELD)


OPERATIONS = (get_events,)
