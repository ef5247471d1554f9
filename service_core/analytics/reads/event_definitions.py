"""`GET /event-names` and `GET /events/properties`: the event names of a workspace and their custom properties."""

import json
from datetime import datetime
from itertools import groupby
from typing import Annotated, Any, ClassVar, Final, Literal
from uuid import UUID

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.freshness import EventFreshness
from service_core.analytics.measures import Predicate
from service_core.analytics.ports import CustomPropertySummary, EventReader
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.range_query import RangeQuery, resolve_last_30_days
from service_core.analytics.reads.sample_masking import mask_personal_data
from service_core.analytics.scope import scope_for_caller
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.kernel.time_ranges import ResolvedRange

_SAMPLE_LENGTH: Final = 200


class EventNameResponse(ResponseModel):
    """One event name of the last 30 days."""

    name: str
    count: int
    first_seen_at: datetime
    last_seen_at: datetime


class EventSendingProvider(ResponseModel):
    """A connected provider that can trigger a rule, and the event names it sends."""

    platform: str
    status: ConnectionStatus
    event_names: list[str]


class EventNamesResponse(ResponseModel):
    """Distinct event names, most frequent first."""

    event_names: list[str]
    events: list[EventNameResponse]
    integrations: list[EventSendingProvider]
    complete: bool


class PropertiesQuery(RowSelection, RangeQuery):
    """Parameters of `GET /events/properties`; the default range is the last 30 days."""

    required_params: ClassVar = ()
    event_name: str | None = Field(default=None, description="Exact.")
    limit: Annotated[int, Clamp(1, 500)] = Field(100, description="Keys per event.")
    segment_id: UUID | None = Field(default=None, description="A segment, whose filters apply.")

    def default_range(self, caller: Caller) -> ResolvedRange:
        """Returns the last 30 local days."""
        return resolve_last_30_days(caller)


class PropertyResponse(ResponseModel):
    """One custom property of an event."""

    key: str
    count: int
    distinct_count: int
    sample: Any
    type: Literal["string", "number", "boolean", "object", "array", "null", "mixed"]


class EventProperties(ResponseModel):
    """The custom properties of one event."""

    event_name: str
    properties: list[PropertyResponse]


class PropertiesResponse(ResponseModel):
    """Custom properties by event name."""

    events: list[EventProperties]
    range: RangeResponse
    complete: bool


@operation("GET /event-names", tag="events", tool="list_event_names", is_aggregate=True)
async def get_event_names(
    query: RowSelection,  # noqa: ARG001 - the rows are selected from the answer
    *,
    caller: Caller,
    event_reader: EventReader,
    freshness: EventFreshness,
    connections: Connections,
    providers: InstalledProviders,
) -> EventNamesResponse:
    """Lists the distinct event names of the last 30 days, without events of bots."""
    date_range = resolve_last_30_days(caller)
    names = await event_reader.list_event_names(scope_for_caller(caller, date_range.span))
    platforms = await connections.list_connections_oldest_first(caller.workspace.id)
    return EventNamesResponse(
        event_names=[name.name for name in names],
        events=[
            EventNameResponse(
                name=name.name,
                count=name.count,
                first_seen_at=name.first_seen_at,
                last_seen_at=name.last_seen_at,
            )
            for name in names
        ],
        integrations=[
            EventSendingProvider(
                platform=connection.provider, status=connection.status, event_names=list(sent)
            )
            for connection in platforms
            if (sent := providers.event_names(connection.provider))
        ],
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


@operation("GET /events/properties", tag="events", tool="list_event_properties")
async def get_event_properties(
    query: PropertiesQuery,
    *,
    caller: Caller,
    event_reader: EventReader,
    freshness: EventFreshness,
    queries: MetricQueries,
) -> PropertiesResponse:
    """Lists custom `event_data` keys by event name: frequency, distinct values, a sample and the type."""
    date_range = query.resolve_range_or_default(caller)
    name = (Predicate("event_name", value=query.event_name),) if query.event_name else ()
    filters = (*name, *await queries.read_segment_event_conditions(caller, query.segment_id))
    summaries = await event_reader.list_custom_properties_by_event(
        scope_for_caller(caller, date_range.span, filters=filters, include_bots=query.include_bots),
        query.limit,
    )
    by_name = groupby(
        sorted(summaries, key=lambda summary: (summary.event_name, -summary.count, summary.key)),
        key=lambda summary: summary.event_name,
    )
    return PropertiesResponse(
        events=[
            EventProperties(
                event_name=name,
                properties=[_build_property_with_redacted_sample(summary) for summary in keys],
            )
            for name, keys in by_name
        ],
        range=RangeResponse.from_range(date_range),
        complete=await freshness.is_range_complete(caller.workspace, date_range),
    )


def _build_property_with_redacted_sample(summary: CustomPropertySummary) -> PropertyResponse:
    return PropertyResponse(
        key=summary.key,
        count=summary.count,
        distinct_count=summary.distinct_count,
        sample=redact_or_truncate_sample(summary.key, summary.sample),
        type=summary.type,
    )


def redact_or_truncate_sample(property_key: str, sample: Any) -> Any:
    """Returns a value for display: without personal data at any depth, at most 200 characters long."""
    sample = mask_personal_data(property_key, sample)
    if isinstance(sample, list | tuple | dict):
        text = json.dumps(sample, ensure_ascii=False, separators=(",", ":"))
        return sample if len(text) <= _SAMPLE_LENGTH else text[:_SAMPLE_LENGTH]
    return sample[:_SAMPLE_LENGTH] if isinstance(sample, str) else sample


OPERATIONS = (get_event_properties, get_event_names)
