"""The event store over plain lists."""

from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from plugins.events_memory import cohorts, funnel, grid, items, journey, log, paths, people, streams
from plugins.events_memory.history import History
from service_core.plugin import (
    CAMPAIGN_COLUMNS,
    MOST_OF_A_PERSON,
    Aggregate,
    Batch,
    CohortPlan,
    CohortTable,
    Contested,
    ConversionSet,
    Event,
    EventName,
    EventPage,
    Events,
    FunnelPlan,
    FunnelTable,
    Grid,
    ItemPlan,
    ItemSum,
    Journey,
    JourneyPlan,
    LiveVisitor,
    Origin,
    Path,
    PathPlan,
    PeoplePage,
    Person,
    PropertyKey,
    Scan,
    SessionKey,
    SessionState,
    Touch,
    moment,
)

_REPEAT: Final = timedelta(days=7)


class MemoryEvents:
    """Events in memory, every port of the event store on them."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._received: defaultdict[tuple[UUID, str], list[datetime]] = defaultdict(list)
        self._revoked: set[tuple[UUID, str]] = set()

    async def append(self, events: Sequence[Event]) -> int:
        """Store a batch; an event id received less than 7 days apart is stored once."""
        before = len(self._events)
        for event in events:
            received = self._received[event.workspace_id, event.event_id]
            if all(abs(event.received_at - at) >= _REPEAT for at in received):
                received.append(event.received_at)
                self._events.append(event)
        return len(self._events) - before

    async def sessions(self, keys: Sequence[SessionKey]) -> dict[SessionKey, SessionState]:
        """What is stored of these sessions."""
        people = [e for e in self._events if not e.is_bot]
        found = {key: [e for e in people if _session(e) == key] for key in keys}
        return {key: _state(sorted(events, key=moment)) for key, events in found.items() if events}

    async def maintain(self) -> None:
        """Nothing to tidy in a list."""

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures by dimensions and buckets."""
        return grid.aggregate(plan, self._history(plan.scan))

    async def page(self, plan: EventPage) -> Events:
        """Raw event rows."""
        return log.page(plan, self._history(plan.scan))

    async def event_batches(self, scan: Scan, limit: int) -> AsyncGenerator[Batch, None]:
        """Event rows for a file, newest first."""
        found = log.page(EventPage(scan, limit, total=False), self._history(scan)).events
        for batch in streams.batches(found):
            yield batch

    async def person_batches(self, plan: PeoplePage) -> AsyncGenerator[Sequence[Person], None]:
        """Persons for a file."""
        found, _ = people.page(plan, self._history(plan.scan))
        for start in range(0, len(found), streams.BATCH):
            yield found[start : start + streams.BATCH]

    async def names(self, scan: Scan) -> list[EventName]:
        """Event names in the span."""
        return log.names(scan, self._history(scan))

    async def properties(self, scan: Scan, limit: int) -> list[PropertyKey]:
        """Custom keys by event name."""
        return log.properties(scan, limit, self._history(scan))

    async def live(self, scan: Scan, received_since: datetime, limit: int) -> list[LiveVisitor]:
        """Visitors of the last minutes."""
        return log.live(scan, received_since, limit, self._history(scan))

    async def bounds(self, workspace_id: UUID) -> tuple[datetime, datetime] | None:
        """Timestamps of the first and last event, bots included."""
        times = [e.timestamp for e in self._events if e.workspace_id == workspace_id]
        return (min(times), max(times)) if times else None

    async def people(self, plan: PeoplePage) -> tuple[list[Person], int]:
        """A page of persons and the number of all."""
        return people.page(plan, self._history(plan.scan))

    async def resolve(self, workspace_id: UUID, any_id: str) -> str | None:
        """The person an id belongs to."""
        return people.resolve(any_id, self._lasting(workspace_id, include_bots=True))

    async def origins(self, workspace_id: UUID, ids: Collection[str]) -> Mapping[str, Origin]:
        """Where the persons of some ids came from."""
        return people.origins(ids, self._lasting(workspace_id, include_bots=True))

    async def contested(self, workspace_id: UUID, limit: int) -> tuple[list[Contested], int]:
        """External ids that link nobody because several persons carry them, and the number of all."""
        return people.contested(limit, self._lasting(workspace_id))

    async def history(self, scan: Scan, person: str, limit: int = MOST_OF_A_PERSON) -> list[Event]:
        """The latest events of a person in the span."""
        return people.events_of(person, scan, self._history(scan))[-limit:]

    async def touches(self, scan: Scan, person: str, limit: int = MOST_OF_A_PERSON) -> list[Touch]:
        """The person's latest touches in the span."""
        return people.touches(person, scan, self._history(scan))[-limit:]

    async def journey(self, plan: JourneyPlan) -> Journey:
        """Who a person is, and what they did."""
        return journey.journey(plan, self._history(plan.scan), self._lasting(plan.scan.workspace_id))

    async def revoke_link(self, workspace_id: UUID, event_id: str) -> None:
        """Remove the identity links an event made."""
        self._revoked.add((workspace_id, event_id))

    async def cohorts(self, plan: CohortPlan) -> CohortTable:
        """Cohort sizes and activity."""
        return cohorts.cohorts(plan, self._history(plan.scan))

    async def funnel(self, plan: FunnelPlan) -> FunnelTable:
        """Walk the units through the steps."""
        return funnel.funnel(plan, self._history(plan.scan))

    async def paths(self, plan: PathPlan) -> list[Path]:
        """Every different touch path."""
        return paths.paths(plan, self._history(plan.scan))

    async def items(self, plan: ItemPlan) -> list[ItemSum]:
        """Every kind of item that was sold or came back."""
        return items.items(plan, self._history(plan.scan))

    def _history(self, scan: Scan) -> History:
        return self._seen(scan.workspace_id, scan.conversions, include_bots=scan.include_bots)

    def _lasting(self, workspace_id: UUID, *, include_bots: bool = False) -> History:
        """The history for questions that have no scan, where nothing converts."""
        return self._seen(
            workspace_id, ConversionSet(frozenset(), any_revenue=False), include_bots=include_bots
        )

    def _seen(self, workspace_id: UUID, conversions: ConversionSet, *, include_bots: bool) -> History:
        return History(
            (event for event in self._events if event.workspace_id == workspace_id),
            {event_id for workspace, event_id in self._revoked if workspace == workspace_id},
            conversions,
            include_bots=include_bots,
        )


def _session(event: Event) -> SessionKey:
    return event.workspace_id, event.visitor_id, event.session_id


def _state(events: list[Event]) -> SessionState:
    """The entry page, the values of the latest event, which inherits them, and the latest campaign."""
    campaigns = [tuple(getattr(e, column) for column in CAMPAIGN_COLUMNS) for e in events]
    latest = events[-1]
    return SessionState(
        first_at=events[0].timestamp,
        landing_page=events[0].landing_page,
        attribution_source=latest.attribution_source,
        attribution_medium=latest.attribution_medium,
        channel=latest.channel,
        last_campaign=next((values for values in reversed(campaigns) if any(values)), None),
    )
