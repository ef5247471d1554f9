"""`GET /context`: workspace, key, usage, data and limits for clients."""

from datetime import date, datetime
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionSettings
from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.connections.ports import Connections
from service_core.analytics.freshness import get_events_complete_through
from service_core.analytics.ports import AggregateReader, EventReader
from service_core.analytics.postbacks.ports import PostbackReader
from service_core.analytics.reads.usage import Usage, read_usage_of_current_month
from service_core.ingestion.ports import IngestQueue
from service_core.kernel.operations import operation
from service_core.kernel.schemas import ResponseModel
from service_core.kernel.wall_clock import local_date


class ContextWorkspace(ResponseModel):
    """The workspace of the key."""

    id: str
    name: str
    domain: str | None
    timezone: str
    currency: str


class ContextKey(ResponseModel):
    """The key of the request."""

    id: str
    name: str
    type: str
    scopes: list[str]


class ContextData(ResponseModel):
    """The time range of the data."""

    first_event_at: datetime | None
    last_event_at: datetime | None
    data_through: datetime


class ContextConnection(ResponseModel):
    """A connected platform."""

    platform: str
    status: ConnectionStatus
    last_synced_at: datetime | None


class QueryLimits(ResponseModel):
    """Limits of one `POST /query`."""

    max_metrics: int
    max_dimensions: int
    max_filters: int
    max_rows: int


class Context(Usage):
    """Usage, workspace, key, data and limits."""

    workspace: ContextWorkspace
    key: ContextKey
    attribution_default: AttributionSettings
    now: datetime
    today: date
    data: ContextData
    connections: list[ContextConnection]
    limits: QueryLimits


LIMITS: Final = QueryLimits(max_metrics=10, max_dimensions=3, max_filters=10, max_rows=1000)


@operation("GET /context", tag="workspace", is_aggregate=True)
async def get_context(
    *,
    caller: Caller,
    aggregate_reader: AggregateReader,
    event_reader: EventReader,
    queue: IngestQueue,
    connections: Connections,
    postbacks: PostbackReader,
) -> Context:
    """Returns what a client needs before its first query: workspace, key, usage, data and limits."""
    workspace, credential = caller.workspace, caller.credential
    usage = await read_usage_of_current_month(caller, aggregate_reader, postbacks)
    first, last = await event_reader.first_and_last_event_time(workspace.id) or (None, None)
    platforms = await connections.list_connections_oldest_first(workspace.id)
    return Context(
        **dict(usage),
        workspace=ContextWorkspace(
            id=workspace.public_id,
            name=workspace.name,
            domain=workspace.domain,
            timezone=workspace.timezone,
            currency=workspace.currency,
        ),
        key=ContextKey(
            id=str(credential.id),
            name=credential.name,
            type=credential.kind.value,
            scopes=sorted(credential.scopes),
        ),
        attribution_default=AttributionSettings.workspace_default(workspace),
        now=caller.now,
        today=local_date(caller.now, workspace.zone),
        data=ContextData(
            first_event_at=first,
            last_event_at=last,
            data_through=await get_events_complete_through(queue, caller.now),
        ),
        connections=[
            ContextConnection(
                platform=connection.provider,
                status=connection.status,
                last_synced_at=connection.last_synced_at,
            )
            for connection in platforms
        ],
        limits=LIMITS,
    )


OPERATIONS = (get_context,)
