"""The events of the store as they were known earlier."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from service_core.plugin import Clock, Event, EventHistoryState, SupersededEvent, system_clock


@dataclass(frozen=True, slots=True)
class _Version:
    """What an event was from one instant until before another."""

    event: Event
    recorded_at: datetime
    recorded_until: datetime


class MemoryEventHistory:
    """Implements `EventHistory`, and records what the writes of the store do."""

    _events: list[Event]
    _superseded: dict[tuple[UUID, int], SupersededEvent]

    def __init__(self) -> None:
        self._clock: Clock = system_clock
        self._started_at: datetime | None = None
        self._recorded_at: dict[tuple[UUID, int], datetime] = {}
        self._revoked_links: dict[tuple[UUID, str], datetime] = {}
        self._versions: list[_Version] = []
        self._deleted_at: dict[UUID, datetime] = {}

    def use_clock(self, clock: Clock) -> None:
        """Sets the clock that says when something is recorded."""
        self._clock = clock
        self._started_at = clock()

    def record_event(self, event: Event, recorded_at: datetime | None = None) -> None:
        """Remembers when an event became visible; the first time counts."""
        self._recorded_at.setdefault((event.workspace_id, event.seq), recorded_at or self._clock())

    def keep_version(self, event: Event) -> None:
        """Remembers what an event was until now."""
        recorded_at = self._recorded_at[event.workspace_id, event.seq]
        self._versions.append(_Version(event, recorded_at, self._clock()))

    def forget_versions(self, workspace_id: UUID, seqs: set[int]) -> None:
        """Forgets what events were that are deleted for good, and remembers that some were."""
        self._versions = [
            v for v in self._versions if v.event.workspace_id != workspace_id or v.event.seq not in seqs
        ]
        self._deleted_at[workspace_id] = self._clock()

    async def read_history_state(self, workspace_id: UUID, as_of: datetime) -> EventHistoryState:
        """Returns what the store knows of an earlier instant."""
        waiting = (
            e.received_at
            for e in self._events
            if e.received_at <= as_of < self._recorded_at[e.workspace_id, e.seq]
        )
        return EventHistoryState(
            starts_at=self._started_at or datetime.min.replace(tzinfo=as_of.tzinfo),
            event_count=len(self._events_as_of(workspace_id, as_of)),
            deleted_at=self._deleted_at.get(workspace_id),
            waiting_since=min(waiting, default=None),
        )

    async def stream_events_as_of(
        self, workspace_id: UUID, as_of: datetime
    ) -> AsyncGenerator[Sequence[Event], None]:
        """Yields the events that were recorded by an instant, as they were then."""
        yield self._events_as_of(workspace_id, as_of)

    async def list_revoked_links_as_of(self, workspace_id: UUID, as_of: datetime) -> list[str]:
        """Returns the ids of the events whose identity links were revoked by an instant."""
        return [
            event_id
            for (workspace, event_id), at in self._revoked_links.items()
            if workspace == workspace_id and at <= as_of
        ]

    async def delete_event_versions(self, before: datetime) -> None:
        """Deletes what events were until an instant before ``before``."""
        self._versions = [v for v in self._versions if v.recorded_until >= before]

    def _events_as_of(self, workspace_id: UUID, as_of: datetime) -> list[Event]:
        current = (*self._events, *(each.event for each in self._superseded.values()))
        known = {
            e.seq: e
            for e in current
            if e.workspace_id == workspace_id and self._recorded_at[workspace_id, e.seq] <= as_of
        }
        for version in sorted(self._versions, key=lambda v: v.recorded_until, reverse=True):
            is_own = version.event.workspace_id == workspace_id
            if is_own and version.recorded_at <= as_of < version.recorded_until:
                known[version.event.seq] = version.event
        return list(known.values())
