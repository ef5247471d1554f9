"""Refuses to start with an empty event store where another one was used before: its answers were zeros, and complete."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final

from service_core.extensions.workspace_store import WorkspaceStore
from service_core.ingestion.models import KnownEventStore
from service_core.ingestion.ports import IngestLedger
from service_core.kernel.clock import Clock
from service_core.kernel.errors import StartupError

_FIRST_HOUR: Final = datetime(2020, 1, 1, tzinfo=UTC)
_REMEDY: Final = (
    "Restore it from a backup or correct storage.events. If these events are lost, `touchpoint config accept-lost-events` lets "
    "the next start begin without them."
)


class MissingEventStoreCheck:
    """Is started before the event store, which would create its tables.

    Args:
        events: the event store; one that cannot tell whether it has tables is not checked.
        workspace: remembers the event store of the deployment, started.
        ledger: counts the events that were stored, started; None where the queue is not open.
        location: the URL of the event store without secrets.
    """

    start_limit_seconds: ClassVar[float | None] = None
    """No limit: the stores answer within limits of their own."""

    def __init__(
        self, events: Any, workspace: WorkspaceStore, ledger: IngestLedger | None, location: str, clock: Clock
    ) -> None:
        self._events = events
        self._workspace = workspace
        self._ledger = ledger
        self._location = location
        self._clock = clock

    async def start(self) -> None:
        """Returns if the event store has its tables, none was ever used, or its loss was accepted.

        A deployment that has no events yet may also get another one.

        Raises:
            StartupError: the event store of the deployment is not there.
        """
        has_tables = getattr(self._events, "has_tables", None)
        if not callable(has_tables) or await has_tables():
            return
        lost = await self._describe_lost_event_store_or_empty()
        if lost and not await has_tables():  # another process may have created them meanwhile
            raise StartupError(f"The event store of storage.events is missing{lost}. {_REMEDY}")

    async def _describe_lost_event_store_or_empty(self) -> str:
        """Returns what is known of the event store that was used before; empty if nothing is lost without it."""
        known = await self._workspace.event_store_record.find_event_store()
        if known is not None and not known.location:
            return ""
        stored = await self._stored_event_count_or_zero_if_unreadable()
        if stored:
            return f", but {stored} events were stored in it"
        if known is not None and (
            known.has_events or _without_options(known.location) == _without_options(self._location)
        ):
            return f": this deployment uses {known.location} since {known.since:%Y-%m-%d}"
        return ""

    async def _stored_event_count_or_zero_if_unreadable(self) -> int:
        """Returns how many events the ledger counts as stored; 0 if the queue is not open or cannot be read now."""
        if self._ledger is None:
            return 0
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


class EventStoreRecorder:
    """Is started after the event store, and remembers it in the workspace store.

    A scheduled task starts it again, since the first events may come long after the start of the event store.

    Args:
        events: the event store, started; one that cannot tell whether it has tables is never missing.
        workspace: remembers the event store of the deployment, started.
        location: the URL of the event store without secrets.
    """

    def __init__(self, events: Any, workspace: WorkspaceStore, location: str, clock: Clock) -> None:
        self._events = events
        self._workspace = workspace
        self._location = location
        self._clock = clock

    async def start(self) -> None:
        """Remembers where the event store is, since when, and whether it has events.

        Raises:
            StartupError: another event store with events was used before, and this one has none of them.
        """
        if not callable(getattr(self._events, "has_tables", None)):
            return
        record = self._workspace.event_store_record
        known = await record.find_event_store()
        is_same = known is not None and known.location == self._location
        if known is not None and is_same and known.has_events:
            return
        has_events = await self._has_events()
        if known is not None and not is_same and known.has_events and not has_events:
            raise StartupError(
                f"The event store of storage.events has no event of this deployment, which uses {known.location} since "
                f"{known.since:%Y-%m-%d}. Move them with `touchpoint move events`, or correct storage.events. If these "
                "events are lost, `touchpoint config accept-lost-events` lets the next start begin without them."
            )
        if known is None or not is_same:
            await record.save_event_store(KnownEventStore(self._location, self._clock(), has_events))
        elif has_events:
            await record.save_event_store(replace(known, has_events=True))

    async def _has_events(self) -> bool:
        for workspace in await self._workspace.credentials.list_workspaces():
            if await self._events.first_event_time_with_superseded(workspace.id) is not None:
                return True
        return False


def _without_options(location: str) -> str:
    """Returns the URL of a store without its options: they do not say where it is."""
    return location.partition("?")[0]
