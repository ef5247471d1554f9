"""The port of stored events as they were known earlier."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.ingestion.models import Event
from service_core.kernel.clock import Clock


@dataclass(frozen=True, slots=True)
class EventHistoryState:
    """What an event store knows of an earlier instant.

    Attributes:
        starts_at: when it was created; of earlier instants it knows nothing.
        event_count: events of the workspace that were recorded by the instant, superseded ones included.
        deleted_at: when events of the workspace were last deleted for good; None if never.
        waiting_since: receipt of the oldest event of any workspace that was received by the instant and recorded later.
    """

    starts_at: datetime
    event_count: int
    deleted_at: datetime | None
    waiting_since: datetime | None


class EventHistory(Protocol):
    """Gives the events of a workspace as they were known at an earlier instant."""

    def use_clock(self, clock: Clock) -> None:
        """Sets the clock that says when something is recorded."""

    async def read_history_state(self, workspace_id: UUID, as_of: datetime) -> EventHistoryState:
        """Returns what the store knows of an earlier instant, once all appends begun by then are visible."""

    def stream_events_as_of(
        self, workspace_id: UUID, as_of: datetime
    ) -> AsyncGenerator[Sequence[Event], None]:
        """Yields the events that were recorded by an instant, as they were then, in any order.

        Superseded events are among them; events that were deleted since are not, except those of a removed import.
        """

    async def list_revoked_links_as_of(self, workspace_id: UUID, as_of: datetime) -> list[str]:
        """Returns the ids of the events whose identity links were revoked by an instant."""

    async def delete_event_versions(self, before: datetime) -> None:
        """Deletes what events were until an instant before ``before``."""
