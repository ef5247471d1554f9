"""Refuses to start with a new event store where the ledger tells of stored events."""

from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from service_core.extensions.workspace_store import WorkspaceStore
from service_core.ingestion.ports import IngestLedger
from service_core.kernel.clock import Clock
from service_core.kernel.errors import StartupError

_FIRST_HOUR: Final = datetime(2020, 1, 1, tzinfo=UTC)


class MissingEventStoreCheck:
    """Is started before the event store, which would create its tables: its answers were zeros, and complete.

    Args:
        events: the event store; one that cannot tell whether it has tables is not checked.
        workspace: lists the workspaces, started.
        ledger: counts the events that were stored, started.
    """

    start_limit_seconds: ClassVar[float | None] = None
    """No limit: the stores answer within limits of their own."""

    def __init__(self, events: Any, workspace: WorkspaceStore, ledger: IngestLedger, clock: Clock) -> None:
        self._events = events
        self._workspace = workspace
        self._ledger = ledger
        self._clock = clock

    async def start(self) -> None:
        """Returns if the event store has its tables, or nothing was ever stored in it.

        Raises:
            StartupError: events were stored, and the event store that held them is not there.
        """
        has_tables = getattr(self._events, "has_tables", None)
        if not callable(has_tables) or await has_tables():
            return
        stored = await self._count_stored_events()
        if stored:
            raise StartupError(
                f"The event store of storage.events is missing, but {stored} events were stored in it. Restore it from "
                "a backup or correct storage.events. To begin without these events, name a new queue in ingest.queue."
            )

    async def _count_stored_events(self) -> int:
        """Returns how many events the ledger counts as stored; 0 if the queue cannot be read now."""
        end = self._clock() + timedelta(days=1)
        try:
            return sum(
                [
                    row.stored
                    for workspace in await self._workspace.credentials.list_workspaces()
                    for row in await self._ledger.ledger_rows(workspace.id, _FIRST_HOUR, end)
                ]
            )
        except Exception:  # noqa: BLE001 - a queue that is away stops no process; its own start tells of it
            return 0
