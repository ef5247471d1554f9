"""The part of the event store that reads events as they were known earlier."""

from collections.abc import AsyncGenerator, Sequence
from datetime import datetime
from uuid import UUID

from plugins.events_sql.execution.query_executor import Backend, QueryExecutor
from plugins.events_sql.reads import event_history
from plugins.events_sql.writes.event_conditions import timestamp_literal
from service_core.plugin import Clock, Event, EventHistoryState


class SqlEventHistory:
    """Implements `EventHistory`."""

    backend: Backend
    _engine: QueryExecutor

    def use_clock(self, clock: Clock) -> None:
        """Sets the clock that says when something is recorded."""
        self._engine.clock = clock

    async def read_history_state(self, workspace_id: UUID, as_of: datetime) -> EventHistoryState:
        """Returns what the store knows of an earlier instant, once all appends begun by then are visible."""
        await self._engine.run_write_to_its_end(self.backend.writes.wait_for_running_appends)
        return await self._engine.run_read_within_time_budget(
            lambda runner: event_history.read_history_state(workspace_id, as_of, runner)
        )

    def stream_events_as_of(
        self, workspace_id: UUID, as_of: datetime
    ) -> AsyncGenerator[Sequence[Event], None]:
        """Yields the events that were recorded by an instant, as they were then."""
        return self._engine.stream_without_time_limit(
            lambda runner: event_history.stream_events_as_of(workspace_id, as_of, runner)
        )

    async def list_revoked_links_as_of(self, workspace_id: UUID, as_of: datetime) -> list[str]:
        """Returns the ids of the events whose identity links were revoked by an instant."""
        return await self._engine.run_read_within_time_budget(
            lambda runner: event_history.list_revoked_links_as_of(workspace_id, as_of, runner)
        )

    async def delete_event_versions(self, before: datetime) -> None:
        """Deletes what events were until an instant before."""
        condition = f"recorded_until < {timestamp_literal(before)}"
        await self._engine.run_write_to_its_end(
            lambda writer: self.backend.writes.delete_event_versions(writer, condition)
        )
