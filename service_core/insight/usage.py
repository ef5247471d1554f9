"""`GET /workspace` and `GET /usage` (contract 3.16, semantics 21)."""

from datetime import UTC, datetime
from typing import Final

from pydantic import Field

from service_core.access.budgets import MUTATIONS, WINDOW_SECONDS
from service_core.access.model import Caller, Workspace
from service_core.access.plans import PLANS, UNLIMITED
from service_core.insight.connections.model import ConnectionStatus
from service_core.insight.connections.ports import Connections
from service_core.insight.deliveries.ports import SENT, Deliveries
from service_core.insight.measures import Op, Predicate, Relation, count
from service_core.insight.ports import Aggregate, Aggregates
from service_core.insight.scans import workspace_scan
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer
from service_core.kernel.ranges import Span

_COUNTED: Final = count(
    Relation.EVENTS,
    Predicate("event_name", Op.NOT_IN, ("session_end", "session_start")),
    Predicate("is_test", value=False),
)
"""Stored events without session marks, bots and test events (semantics 21.1)."""


class ConnectedPlatform(Answer):
    """A connected provider or ad platform."""

    provider: str
    status: ConnectionStatus


class WorkspaceAnswer(Answer):
    """The workspace of the key."""

    id: str
    name: str
    domain: str | None
    timezone: str
    connected_platforms: list[ConnectedPlatform]
    currency: str


class RateLimit(Answer):
    """What the key may spend per window."""

    limit: int
    window_seconds: int
    mutations_limit: int


class Usage(Answer):
    """What the plan counts in this period; limits are null when unlimited."""

    events_used: int = Field(description="Above `events_limit` events are taken all the same.")
    events_limit: int | None
    postbacks_used: int = Field(description="Postbacks sent; above `postbacks_limit` they go on.")
    postbacks_limit: int | None
    period_start: datetime
    period_end: datetime = Field(description="Exclusive.")
    plan: str
    rate_limit: RateLimit


@operation("GET /workspace", tag="workspace")
async def get_workspace(*, who: Caller, connections: Connections) -> WorkspaceAnswer:
    """The workspace the key belongs to."""
    workspace = who.workspace
    known = await connections.connections(workspace.id)
    return WorkspaceAnswer(
        id=workspace.public_id,
        name=workspace.name,
        domain=workspace.domain,
        timezone=workspace.timezone,
        connected_platforms=[ConnectedPlatform(provider=one.provider, status=one.status) for one in known],
        currency=workspace.currency,
    )


@operation("GET /usage", tag="workspace")
async def get_usage(*, who: Caller, events: Aggregates, deliveries: Deliveries) -> Usage:
    """Events and postbacks of the billing period, and the limits of plan and key.

    The limits of the plan are soft: above them nothing is refused, and `events_used` shows by how much.
    """
    return await usage_of(who, events, deliveries)


async def usage_of(who: Caller, events: Aggregates, deliveries: Deliveries) -> Usage:
    """The caller's usage in the present UTC calendar month."""
    period, plan = period_of(who.now), PLANS.get(who.workspace.plan, UNLIMITED)
    return Usage(
        events_used=await events_used(events, who.workspace, period),
        events_limit=plan.events_limit,
        postbacks_used=await postbacks_used(deliveries, who.workspace, period),
        postbacks_limit=plan.postbacks_limit,
        period_start=period.start,
        period_end=period.end,
        plan=who.workspace.plan,
        rate_limit=RateLimit(
            limit=who.credential.rate_limit,
            window_seconds=WINDOW_SECONDS,
            mutations_limit=MUTATIONS,
        ),
    )


async def events_used(events: Aggregates, workspace: Workspace, period: Span) -> int:
    """Events of a period that count against the limit of the plan."""
    grid = await events.aggregate(Aggregate(workspace_scan(workspace, period), (_COUNTED,)))
    used: int = grid.rows[0][0]
    return used


async def postbacks_used(deliveries: Deliveries, workspace: Workspace, period: Span) -> int:
    """Conversions of a period that platforms have taken; tests and failures do not count (semantics 21.1)."""
    counts = await deliveries.delivery_counts(workspace.id, (period.start, period.end))
    return sum(one.count for one in counts if one.status == SENT)


def period_of(now: datetime) -> Span:
    """The period the plan counts in: the UTC calendar month."""
    start = datetime(now.year, now.month, 1, tzinfo=UTC)
    return Span(start, datetime(now.year + now.month // 12, now.month % 12 + 1, 1, tzinfo=UTC))


OPERATIONS = (get_workspace, get_usage)
