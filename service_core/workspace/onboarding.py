"""`GET /onboarding`: how far a workspace is set up, and what to do next (contract 3.16)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import Field

from service_core.access.model import Caller
from service_core.changes.write import Writes
from service_core.insight.connections.model import Connection, ConnectionStatus, ProviderKind
from service_core.insight.connections.ports import Connections
from service_core.insight.event_kinds import recent
from service_core.insight.measures import Op, Predicate, Relation, count
from service_core.insight.orders import TRACKED_SOURCES
from service_core.insight.ports import Aggregate, Aggregates, EventLog, StoreUnavailable
from service_core.insight.scans import scan_of
from service_core.intake.transport import API, BROWSER, MOBILE_APP, WEB
from service_core.kernel.operations import operation
from service_core.kernel.params import Answer
from service_core.kernel.ranges import Span
from service_core.kernel.together import together
from service_core.workspace.links.model import Link
from service_core.workspace.rules.model import Rule

NOTHING: Final = "Nothing outstanding."

_EVENTS: Final = count(Relation.EVENTS)
_OWN: Final = Predicate("source", Op.IN, tuple(sorted(TRACKED_SOURCES)))
_TRACKED: Final = count(Relation.EVENTS, _OWN)
_IDENTIFIED: Final = count(Relation.EVENTS, _OWN, Predicate("user_id", Op.IS_SET))
"""What a revenue provider sends shows neither that tracking is installed nor that users are identified."""


class OnboardingWorkspace(Answer):
    """The workspace of the key."""

    id: str
    name: str
    created: bool
    created_at: datetime
    active: bool = Field(description="False when the subscription has ended.")
    plan: str


class Tracking(Answer):
    """Which events have come; the times are null when none ever has."""

    first_event_seen_at: datetime | None
    last_event_seen_at: datetime | None
    sdk_detected: list[str] = Field(
        description="What delivered events in the last 30 days: `web`, the library of a mobile or server "
        "client, or a provider's id; most events first."
    )
    events_last_30d: int


class ConnectionState(Answer):
    """A configured integration, whatever its health."""

    platform: str
    status: ConnectionStatus
    error: str | None
    last_synced_at: datetime | None


class Onboarding(Answer):
    """How far the workspace is set up."""

    workspace: OnboardingWorkspace
    tracking: Tracking
    connections: list[ConnectionState]
    next_steps: list[str] = Field(description="In the order to take them; never empty.")
    complete: bool = Field(description="Whether every source answered.")


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the event store tells."""

    tracking: Tracking
    tracked: bool
    identified: bool


@operation("GET /onboarding", tag="workspace")
async def get_onboarding(
    *, who: Caller, events: Aggregates, log: EventLog, connections: Connections, writes: Writes
) -> Onboarding:
    """How far the workspace is set up, and what to do next.

    Events that cannot be read are an error; connections that cannot be read make it incomplete.
    """
    seen, known = await together(_seen(who, events, log), _connections(who, connections))
    workspace = who.workspace
    return Onboarding(
        workspace=OnboardingWorkspace(
            id=workspace.public_id,
            name=workspace.name,
            created=True,
            created_at=workspace.created_at,
            active=workspace.active,
            plan=workspace.plan,
        ),
        tracking=seen.tracking,
        connections=[_state(one) for one in known or ()],
        next_steps=await _next_steps(who, seen, known or (), writes),
        complete=known is not None,
    )


async def _seen(who: Caller, events: Aggregates, log: EventLog) -> _Seen:
    first, last = await log.bounds(who.workspace.id) or (None, None)
    span = recent(who).span
    by_sender: tuple[Mapping[str, str], ...] = ({Relation.EVENTS: "source"}, {Relation.EVENTS: "sdk_name"})
    asked = (_EVENTS, _TRACKED, _IDENTIFIED)
    grid = await events.aggregate(Aggregate(scan_of(who, span), asked, dimensions=by_sender))
    senders: Counter[str] = Counter()
    for source, library, number, *_ in grid.rows:
        senders[_sender(source, library)] += number
    tracked, identified = (any(row[place] for row in grid.rows) for place in (3, 4))
    if not identified and first is not None and first < span.start:
        scan = scan_of(who, Span(first, span.start))
        earlier = await events.aggregate(Aggregate(scan, asked[1:]))  # only now: it reads everything
        tracked, identified = tracked or bool(earlier.rows[0][0]), bool(earlier.rows[0][1])
    tracking = Tracking(
        first_event_seen_at=first,
        last_event_seen_at=last,
        sdk_detected=sorted(senders, key=lambda name: (-senders[name], name)),
        events_last_30d=senders.total(),
    )
    return _Seen(tracking, tracked, identified)


def _sender(source: str, library: str) -> str:
    """What delivered an event: ``web``, a library, or a provider."""
    if source in {WEB, BROWSER}:
        return WEB
    return library if source in {MOBILE_APP, API} else source


async def _connections(who: Caller, connections: Connections) -> Sequence[Connection] | None:
    """The connections; None when they cannot be read."""
    try:
        return await connections.connections(who.workspace.id)
    except StoreUnavailable:
        return None


def _state(connection: Connection) -> ConnectionState:
    return ConnectionState(
        platform=connection.provider,
        status=connection.status,
        error=None if connection.is_live else connection.error,
        last_synced_at=connection.last_synced_at,
    )


async def _next_steps(who: Caller, seen: _Seen, known: Sequence[Connection], writes: Writes) -> list[str]:
    """What is not done yet, each step after those it depends on."""
    live = {connection.kind for connection in known if connection.is_live}
    async with writes.units.look(who.workspace.id) as unit:
        rules, links = await unit.resources.page(Rule, 1), await unit.resources.page(Link, 1)
    steps = (
        ("Install the tracking script or send a server event.", seen.tracked),
        ("Identify your users.", seen.identified),
        ("Connect an ad platform.", ProviderKind.ADS in live),
        ("Connect a revenue provider.", ProviderKind.REVENUE in live),
        ("Create a conversion rule.", rules),
        ("Create a trackable link.", links),
    )
    return [step for step, done in steps if not done] or [NOTHING]


OPERATIONS = (get_onboarding,)
