"""`GET /workspace` and `GET /usage`."""

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import Field

from service_core.access.billing_plans import BILLING_PLANS, UNLIMITED_PLAN
from service_core.access.models import Caller, Workspace
from service_core.access.rate_limits import MUTATION_LIMIT, WINDOW_SECONDS
from service_core.analytics.connections.models import ConnectionStatus
from service_core.analytics.connections.ports import Connections
from service_core.analytics.measures import FilterOperator, Predicate, Relation, count_rows
from service_core.analytics.ports import AggregateQuery, AggregateReader
from service_core.analytics.postbacks.ports import SENT, PostbackReader
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.ingestion.event_names import SESSION_BOUNDARIES
from service_core.ingestion.event_time import EARLIEST_EVENT_TIME
from service_core.kernel.null_reasons import KNOWN_NULL
from service_core.kernel.operations import operation
from service_core.kernel.schemas import ResponseModel
from service_core.kernel.time_ranges import TimeRange

_BILLED_EVENTS: Final = count_rows(
    Relation.EVENTS,
    Predicate("event_name", FilterOperator.NOT_IN, tuple(sorted(SESSION_BOUNDARIES))),
    Predicate("is_test", value=False),
)
"""Counts stored events without session start and end events, bots and test events."""


class ConnectedPlatform(ResponseModel):
    """A connected provider or ad platform."""

    provider: str
    status: ConnectionStatus


class WorkspaceResponse(ResponseModel):
    """The workspace of the key."""

    id: str
    name: str
    domain: str | None
    timezone: str
    connected_platforms: list[ConnectedPlatform]
    currency: str


class RateLimit(ResponseModel):
    """Rate limits of the key per window."""

    limit: int
    window_seconds: int
    mutations_limit: int


class Usage(ResponseModel):
    """Usage of the billing period; limits are null if unlimited."""

    events_used: int = Field(description="Above `events_limit` events are taken all the same.")
    events_limit: Annotated[int | None, KNOWN_NULL]
    postbacks_used: int = Field(description="Postbacks sent; above `postbacks_limit` they go on.")
    postbacks_limit: Annotated[int | None, KNOWN_NULL]
    period_start: datetime
    period_end: datetime = Field(description="Exclusive.")
    plan: str
    rate_limit: RateLimit


@operation("GET /workspace", tag="workspace", is_aggregate=True)
async def get_workspace(*, caller: Caller, connections: Connections) -> WorkspaceResponse:
    """Returns the workspace of the key."""
    workspace = caller.workspace
    platforms = await connections.list_connections_oldest_first(workspace.id)
    return WorkspaceResponse(
        id=workspace.public_id,
        name=workspace.name,
        domain=workspace.domain,
        timezone=workspace.timezone,
        connected_platforms=[
            ConnectedPlatform(provider=connection.provider, status=connection.status)
            for connection in platforms
        ],
        currency=workspace.currency,
    )


@operation("GET /usage", tag="workspace", is_aggregate=True)
async def get_usage(*, caller: Caller, aggregate_reader: AggregateReader, postbacks: PostbackReader) -> Usage:
    """Returns events and postbacks of the billing period, and the limits of plan and key.

    The limits of the plan are soft: nothing is refused above them.
    """
    return await read_usage_of_current_month(caller, aggregate_reader, postbacks)


async def read_usage_of_current_month(
    caller: Caller, aggregate_reader: AggregateReader, postbacks: PostbackReader
) -> Usage:
    """Returns the usage of the caller's workspace in the current UTC calendar month."""
    period, plan = get_billing_period(caller.now), BILLING_PLANS.get(caller.workspace.plan, UNLIMITED_PLAN)
    return Usage(
        events_used=await count_billed_events(aggregate_reader, caller.workspace, period),
        events_limit=plan.events_limit,
        postbacks_used=await count_sent_postbacks(postbacks, caller.workspace, period),
        postbacks_limit=plan.postbacks_limit,
        period_start=period.start,
        period_end=period.end,
        plan=caller.workspace.plan,
        rate_limit=RateLimit(
            limit=caller.credential.rate_limit,
            window_seconds=WINDOW_SECONDS,
            mutations_limit=MUTATION_LIMIT,
        ),
    )


async def count_billed_events(
    aggregate_reader: AggregateReader, workspace: Workspace, period: TimeRange
) -> int:
    """Returns the number of events received in a period that count against the limit of the plan.

    A late event counts in the period of its receipt, whatever its own time.
    """
    received = (
        Predicate("received_at", FilterOperator.GTE, period.start),
        Predicate("received_at", FilterOperator.LT, period.end),
    )
    ever = scope_for_workspace_without_bots(workspace, TimeRange(EARLIEST_EVENT_TIME, period.end))
    result = await aggregate_reader.aggregate(
        AggregateQuery(ever, (_BILLED_EVENTS.with_conditions(*received),))
    )
    used: int = result.rows[0][0]
    return used


async def count_sent_postbacks(postbacks: PostbackReader, workspace: Workspace, period: TimeRange) -> int:
    """Returns the number of postbacks in a period that platforms accepted; tests and failures do not count."""
    counts = await postbacks.count_final_postbacks_by_bucket(workspace.id, (period.start, period.end))
    return sum(count.count for count in counts if count.status == SENT)


def get_billing_period(now: datetime) -> TimeRange:
    """Returns the billing period that contains an instant: the UTC calendar month."""
    start = datetime(now.year, now.month, 1, tzinfo=UTC)
    return TimeRange(start, datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC))


OPERATIONS = (get_workspace, get_usage)
