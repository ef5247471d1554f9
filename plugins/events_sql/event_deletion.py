"""The part of the event store that deletes events and cuts IP addresses."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from uuid import UUID

from plugins.events_sql.execution.query_executor import Backend, QueryExecutor
from plugins.events_sql.writes.event_conditions import happened_before, has_sequence_number, is_of_import


class EventDeletion:
    """Implements `ImportedEventStore`, and the writes of `PersonalDataStore`."""

    backend: Backend
    _engine: QueryExecutor

    async def truncate_addresses(self, before: datetime, since: datetime | None = None) -> int:
        """Cuts the IP addresses of events received in a time range, one day in each transaction."""
        return await self._engine.run_write_to_its_end(
            lambda writer: self.backend.writes.truncate_addresses(writer, before, since)
        )

    async def delete_events_before(self, workspace_id: UUID, before: datetime) -> int:
        """Deletes the events of a workspace that happened before a time."""
        return (await self._delete_meeting_any(workspace_id, [happened_before(before)]))["events"]

    async def delete_events(self, workspace_id: UUID, seqs: Collection[int]) -> Mapping[str, int]:
        """Deletes events by sequence number."""
        return await self._delete_meeting_any(workspace_id, list(has_sequence_number(seqs)))

    async def delete_imported_events(self, workspace_id: UUID, import_id: UUID) -> int:
        """Deletes the events that an import brought in."""
        removed = await self._engine.run_write_to_its_end(
            lambda writer: self.backend.writes.remove_events_keeping_versions(
                writer, workspace_id, is_of_import(import_id, self.backend.dialect)
            )
        )
        return removed["events"]

    async def _delete_meeting_any(self, workspace_id: UUID, conditions: Sequence[str]) -> Mapping[str, int]:
        return await self._engine.run_write_to_its_end(
            lambda writer: self.backend.writes.delete_events(writer, workspace_id, conditions)
        )
