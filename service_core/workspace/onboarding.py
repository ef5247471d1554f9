"""`GET /onboarding`: how far a workspace is set up, and what to do next."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.event_rules.order_deduplication import TRACKED_SOURCES
from service_core.analytics.measures import Column, FilterOperator, Predicate, Relation, count_rows
from service_core.analytics.ports import AggregateQuery, AggregateReader, EventReader, StoreUnavailable
from service_core.analytics.range_query import resolve_last_30_days
from service_core.analytics.scope import scope_for_caller
from service_core.changes.change_executor import ChangeExecutor
from service_core.ingestion.event_source import API, BROWSER, MOBILE_APP, WEB
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.operations import operation
from service_core.kernel.schemas import ResponseModel
from service_core.kernel.time_ranges import TimeRange
from service_core.workspace.links.models import TrackingLink
from service_core.workspace.rules.models import ConversionRule

NOTHING_OUTSTANDING: Final = "Nothing outstanding."

_EVENT_COUNT: Final = count_rows(Relation.EVENTS)
_TRACKED_SOURCE_FILTER: Final = Predicate("source", FilterOperator.IN, tuple(sorted(TRACKED_SOURCES)))
_TRACKED_COUNT: Final = count_rows(Relation.EVENTS, _TRACKED_SOURCE_FILTER)
_IDENTIFIED_COUNT: Final = count_rows(
    Relation.EVENTS, _TRACKED_SOURCE_FILTER, Predicate("user_id", FilterOperator.IS_SET)
)
"""Events of tracking only: those of a revenue provider do not show that tracking is installed or users are identified."""


class SetupStep(StrEnum):
    """A step as the answer names it while it is outstanding."""

    INSTALL_TRACKING = "Install the tracking script or send a server event."
    IDENTIFY_USERS = "Identify your users."
    CONNECT_ADS = "Connect an ad platform."
    CONNECT_REVENUE = "Connect a revenue provider."
    CREATE_RULE = "Create a conversion rule."
    CREATE_LINK = "Create a trackable link."


class OnboardingWorkspace(ResponseModel):
    """The workspace of the key."""

    id: str
    name: str
    created: bool
    created_at: datetime
    active: bool = Field(description="False when the subscription has ended.")
    plan: str


class Tracking(ResponseModel):
    """The events received so far; the times are null without any."""

    first_event_seen_at: datetime | None
    last_event_seen_at: datetime | None
    sdk_detected: list[str] = Field(
        description="What delivered events in the last 30 days: `web`, the library of a mobile or server "
        "client, or a provider's id; most events first."
    )
    events_last_30d: int


class ConnectionState(ResponseModel):
    """A configured integration, whatever its health."""

    platform: str
    status: ConnectionStatus
    error: str | None
    last_synced_at: datetime | None


class Onboarding(ResponseModel):
    """Completed and open steps of the setup."""

    workspace: OnboardingWorkspace
    tracking: Tracking
    connections: list[ConnectionState]
    next_steps: list[str] = Field(description="In the order to take them; never empty.")
    complete: bool = Field(description="Whether every source answered.")


@dataclass(frozen=True, slots=True)
class _TrackingState:
    """Facts derived from the stored events."""

    tracking: Tracking
    tracked: bool
    identified: bool


@operation("GET /onboarding", tag="workspace", is_aggregate=True)
async def get_onboarding(
    *,
    caller: Caller,
    events: AggregateReader,
    log: EventReader,
    connections: Connections,
    changes: ChangeExecutor,
) -> Onboarding:
    """How far the workspace is set up, and what to do next.

    Events that cannot be read are an error; connections that cannot be read make it incomplete.
    """
    tracking_state, known_connections = await gather_or_cancel(
        _load_tracking_of_30_days_else_all_time(caller, events, log),
        _load_connections_or_none(caller, connections),
    )
    workspace = caller.workspace
    return Onboarding(
        workspace=OnboardingWorkspace(
            id=workspace.public_id,
            name=workspace.name,
            created=True,
            created_at=workspace.created_at,
            active=workspace.active,
            plan=workspace.plan,
        ),
        tracking=tracking_state.tracking,
        connections=[
            _connection_state_without_past_error(connection) for connection in known_connections or ()
        ],
        next_steps=await _outstanding_steps(caller, tracking_state, known_connections or (), changes),
        complete=known_connections is not None,
    )


async def _load_tracking_of_30_days_else_all_time(
    caller: Caller, events: AggregateReader, log: EventReader
) -> _TrackingState:
    first, last = await log.first_and_last_event_time(caller.workspace.id) or (None, None)
    span = resolve_last_30_days(caller).span
    by_sender: tuple[Mapping[str, Column], ...] = (
        {Relation.EVENTS: Column("source")},
        {Relation.EVENTS: Column("sdk_name")},
    )
    measures = (_EVENT_COUNT, _TRACKED_COUNT, _IDENTIFIED_COUNT)
    grid = await events.aggregate(
        AggregateQuery(scope_for_caller(caller, span), measures, dimensions=by_sender)
    )
    senders: Counter[str] = Counter()
    for source, library, number, *_ in grid.rows:
        senders[_sender_name(source, library)] += number
    tracked, identified = (any(row[place] for row in grid.rows) for place in (3, 4))
    if not identified and first is not None and first < span.start:
        scan = scope_for_caller(caller, TimeRange(first, span.start))
        earlier = await events.aggregate(AggregateQuery(scan, measures[1:]))  # only now: it reads everything
        tracked, identified = tracked or bool(earlier.rows[0][0]), bool(earlier.rows[0][1])
    tracking = Tracking(
        first_event_seen_at=first,
        last_event_seen_at=last,
        sdk_detected=sorted(senders, key=lambda name: (-senders[name], name)),
        events_last_30d=senders.total(),
    )
    return _TrackingState(tracking, tracked, identified)


def _sender_name(source: str, library: str) -> str:
    """Returns the sender of an event: ``web``, a library, or a provider."""
    if source in {WEB, BROWSER}:
        return WEB
    return library if source in {MOBILE_APP, API} else source


async def _load_connections_or_none(caller: Caller, connections: Connections) -> Sequence[Connection] | None:
    """Returns the connections; None when they cannot be read."""
    try:
        return await connections.list_connections_oldest_first(caller.workspace.id)
    except StoreUnavailable:
        return None


def _connection_state_without_past_error(connection: Connection) -> ConnectionState:
    return ConnectionState(
        platform=connection.provider,
        status=connection.status,
        error=None if connection.is_connected else connection.error,
        last_synced_at=connection.last_synced_at,
    )


async def _outstanding_steps(
    caller: Caller, state: _TrackingState, connections: Sequence[Connection], changes: ChangeExecutor
) -> list[str]:
    """Returns the steps that are not done, each after those it depends on."""
    live = {connection.kind for connection in connections if connection.is_connected}
    async with changes.transactions.read(caller.workspace.id) as transaction:
        rules, links = (
            await transaction.resources.list_page(ConversionRule, 1),
            await transaction.resources.list_page(TrackingLink, 1),
        )
    steps = (
        (SetupStep.INSTALL_TRACKING, state.tracked),
        (SetupStep.IDENTIFY_USERS, state.identified),
        (SetupStep.CONNECT_ADS, ProviderKind.ADS in live),
        (SetupStep.CONNECT_REVENUE, ProviderKind.REVENUE in live),
        (SetupStep.CREATE_RULE, rules),
        (SetupStep.CREATE_LINK, links),
    )
    return [step.value for step, done in steps if not done] or [NOTHING_OUTSTANDING]


OPERATIONS = (get_onboarding,)
