"""`GET /context`: what a client needs to know before it asks anything (contract 3.16)."""

from datetime import date, datetime
from typing import Final

from service_core.access.model import Caller
from service_core.insight.attribution.model import Attribution
from service_core.insight.connections.model import ConnectionStatus
from service_core.insight.connections.ports import Connections
from service_core.insight.deliveries.ports import Deliveries
from service_core.insight.freshness import data_through
from service_core.insight.ports import Aggregates, EventLog
from service_core.insight.usage import Usage, usage_of
from service_core.intake.ports import IngestQueue
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer
from service_core.kernel.wall_clock import local_date


class ContextWorkspace(Answer):
    """The workspace of the key."""

    id: str
    name: str
    domain: str | None
    timezone: str
    currency: str


class ContextKey(Answer):
    """The key itself."""

    id: str
    name: str
    type: str
    scopes: list[str]


class ContextData(Answer):
    """How far the data reaches."""

    first_event_at: datetime | None
    last_event_at: datetime | None
    data_through: datetime


class ContextConnection(Answer):
    """A connected platform."""

    platform: str
    status: ConnectionStatus
    last_synced_at: datetime | None


class QueryLimits(Answer):
    """What one `POST /query` may hold."""

    max_metrics: int
    max_dimensions: int
    max_filters: int
    max_rows: int


class Context(Usage):
    """Usage, workspace, key, data and limits in one."""

    workspace: ContextWorkspace
    key: ContextKey
    attribution_default: Attribution
    now: datetime
    today: date
    data: ContextData
    connections: list[ContextConnection]
    limits: QueryLimits


LIMITS: Final = QueryLimits(max_metrics=10, max_dimensions=3, max_filters=10, max_rows=1000)


@operation("GET /context", tag="workspace")
async def get_context(
    *,
    who: Caller,
    events: Aggregates,
    log: EventLog,
    queue: IngestQueue,
    connections: Connections,
    deliveries: Deliveries,
) -> Context:
    """Everything a client needs to know before it asks: workspace, key, usage, data and limits."""
    workspace, credential = who.workspace, who.credential
    usage = await usage_of(who, events, deliveries)
    first, last = await log.bounds(workspace.id) or (None, None)
    known = await connections.connections(workspace.id)
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
        attribution_default=Attribution.usual(workspace),
        now=who.now,
        today=local_date(who.now, workspace.zone),
        data=ContextData(
            first_event_at=first, last_event_at=last, data_through=await data_through(queue, who.now)
        ),
        connections=[
            ContextConnection(platform=one.provider, status=one.status, last_synced_at=one.last_synced_at)
            for one in known
        ],
        limits=LIMITS,
    )


OPERATIONS = (get_context,)
