"""Operations over the facts of an earlier instant: the ordinary code on a store that is restored to it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from hosts.composition.bindings import Bindings, bind_operation
from hosts.composition.components import bind_past_query_components
from hosts.composition.ports import PORTS, Ports
from service_core.access.models import Caller, Workspace
from service_core.analytics.history.definitions import digest_of_definitions
from service_core.analytics.history.earliest_instant import history_unavailable_error, require_known_instant
from service_core.analytics.history.past_sources import NoHistory, PastQueue
from service_core.api.bound_operation import BoundOperation
from service_core.api.past_operation import PastOperation
from service_core.extensions.workspace_store import WorkspaceStore
from service_core.ingestion.event_history import EventHistoryState
from service_core.ingestion.models import KnownEventStore
from service_core.kernel.errors import BadRequest, ServiceUnavailable
from service_core.kernel.operations import Operation
from service_core.kernel.settings import Settings
from service_core.kernel.timestamps import format_timestamp

_EVENTS_PER_APPEND: Final = 20_000
_UNUSED_SECONDS: Final = 600.0
"""How long a restored instant is kept without being read: it holds personal data and memory."""

_RESTORED_STORES: Final = (
    "transactions",
    "connections",
    "poll_states",
    "ad_spend",
    "subscriptions",
    "item_costs",
    "exchange_rates",
)
"""Parts of the workspace store that are read as they were at the instant."""

_KEPT_STORES: Final = ("links", "receipts", "transform_gaps")
"""Parts of the workspace store that are read as they are: all numbers they give were the same at the instant."""

_Key = tuple[UUID, datetime, datetime | None]
"""Workspace, instant, and when events of the workspace were last deleted."""


@dataclass
class _Restored:
    """The facts of an instant, and the operations that read them.

    Attributes:
        resources: the stores of the instant, open.
        workspace: the workspace at the instant.
        bindings: of operations.
        operations: those that were bound already, by id.
        users: how many requests read it now.
        used_at: when the last of them ended, by the clock of the event loop.
    """

    resources: AsyncExitStack
    workspace: Workspace
    bindings: Bindings
    operations: dict[str, BoundOperation] = field(default_factory=dict)
    users: int = 0
    used_at: float = 0.0

    def bind(self, operation: Operation) -> BoundOperation:
        """Returns an operation with dependencies of the instant."""
        if operation.id not in self.operations:
            self.operations[operation.id] = bind_operation(operation, self.bindings)
        return self.operations[operation.id]


class PastOperations:
    """Restores the events of a workspace to an instant, and binds operations to them; the last few are kept.

    Args:
        ports: the deployment's.
        settings: bound time, size and number of what is restored.
    """

    def __init__(self, ports: Ports, settings: Settings) -> None:
        self._ports = ports
        self._settings = settings
        self._restored: dict[_Key, _Restored] = {}
        self._restoring = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Saves since when answers are computed with the present definitions of metrics, unless it is known."""
        record, now = self._ports.workspace.event_store_record, self._ports.clock()
        known = await record.find_event_store()
        digest = digest_of_definitions(self._ports.registry.catalog)
        if known is None or known.definitions != digest:
            known = known or KnownEventStore(self._ports.event_store_location, now, has_events=False)
            await record.save_event_store(replace(known, definitions=digest, answers_since=now))

    @asynccontextmanager
    async def open_operation_as_of(
        self, operation: Operation, caller: Caller, as_of: datetime
    ) -> AsyncIterator[PastOperation]:
        """Gives an operation over the facts of an instant, and the caller of then.

        Raises:
            BadRequest: ``invalid_parameter``, ``as_of_unavailable``, ``as_of_too_large``.
            ServiceUnavailable: ``as_of_busy``, ``query_timeout``, or a store cannot be read.
        """
        state = await self._ports.events.read_history_state(caller.workspace.id, as_of)
        await self._require_restorable(caller, as_of, state)
        restored = await self._restore_once_and_add_user(caller.workspace, as_of, state)
        try:
            warnings = (
                () if state.deleted_at is None or state.deleted_at <= as_of else (_deletion_warning(state),)
            )
            caller_then = replace(caller, now=as_of, workspace=restored.workspace)
            yield PastOperation(restored.bind(operation), caller_then, warnings)
        finally:
            loop = asyncio.get_running_loop()
            restored.users -= 1
            restored.used_at = loop.time()
            loop.call_later(_UNUSED_SECONDS, self._start_closing_unused_instants)

    async def aclose(self) -> None:
        """Closes the restored stores."""
        await asyncio.gather(*self._closing)
        while self._restored:
            await self._restored.popitem()[1].resources.aclose()

    async def _require_restorable(self, caller: Caller, as_of: datetime, state: EventHistoryState) -> None:
        workspace_store, limits = self._ports.workspace, self._settings.history
        await require_known_instant(
            caller.workspace,
            as_of,
            caller.now,
            recording_start=state.starts_at,
            workspace_start=await workspace_store.history.recording_start(caller.workspace.id),
            retention=timedelta(days=limits.retention_days),
            event_store_record=workspace_store.event_store_record,
        )
        if state.event_count > limits.max_events:
            raise BadRequest(
                f"The workspace had {state.event_count} events then; answers of earlier instants are given again "
                f"for at most {limits.max_events}",
                "as_of_too_large",
                field="as_of",
                hint="The setting history.max_events raises the limit.",
            )

    async def _restore_once_and_add_user(
        self, workspace: Workspace, as_of: datetime, state: EventHistoryState
    ) -> _Restored:
        """Returns the facts of an instant, with one more user."""
        workspace_id = workspace.id
        key = workspace_id, as_of, state.deleted_at
        await self._close_unread_instants_where(
            lambda other, _: other[0] == workspace_id and other[2] != state.deleted_at
        )
        if key not in self._restored:
            async with self._hold_restore_lock():
                if key not in self._restored:
                    await self._close_oldest_unread_below_limit()
                    self._restored[key] = await self._restore_within_time_limit(workspace, as_of, state)
                return self._add_user(key)
        return self._add_user(key)

    def _add_user(self, key: _Key) -> _Restored:
        restored = self._restored[key] = self._restored.pop(key)  # the last one is the latest used
        restored.users += 1
        return restored

    @asynccontextmanager
    async def _hold_restore_lock(self) -> AsyncIterator[None]:
        """Waits while another instant is restored, at most as long as that may take.

        Raises:
            ServiceUnavailable: ``as_of_busy``.
        """
        try:
            async with asyncio.timeout(self._settings.history.restore_seconds):
                await self._restoring.acquire()
        except TimeoutError:
            raise _busy_error() from None
        try:
            yield
        finally:
            self._restoring.release()

    def _start_closing_unused_instants(self) -> None:
        """Begins to close the instants that nobody read for a while."""
        unused_since = asyncio.get_running_loop().time() - _UNUSED_SECONDS
        closing = asyncio.create_task(
            self._close_unread_instants_where(lambda _, restored: restored.used_at <= unused_since)
        )
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def _close_unread_instants_where(self, is_outdated: Callable[[_Key, _Restored], bool]) -> None:
        """Closes the restored instants that meet a condition and are not read now."""
        while key := next(
            (key for key, each in self._restored.items() if not each.users and is_outdated(key, each)), None
        ):
            await self._restored.pop(key).resources.aclose()

    async def _close_oldest_unread_below_limit(self) -> None:
        """Closes the restored instants that were used longest ago.

        Raises:
            ServiceUnavailable: ``as_of_busy``, all of them are read now.
        """
        while len(self._restored) >= self._settings.history.cached_instants:
            idle = next((key for key, restored in self._restored.items() if not restored.users), None)
            if idle is None:
                raise _busy_error()
            await self._restored.pop(idle).resources.aclose()

    async def _restore_within_time_limit(
        self, workspace: Workspace, as_of: datetime, state: EventHistoryState
    ) -> _Restored:
        async with AsyncExitStack() as opened:
            try:
                async with asyncio.timeout(self._settings.history.restore_seconds):
                    restored = await self._restore_workspace_and_events(workspace, as_of, state, opened)
            except TimeoutError:
                raise ServiceUnavailable(
                    "The facts of the instant could not be restored in time",
                    "query_timeout",
                    hint="The setting history.restore_seconds raises the limit.",
                ) from None
            restored.resources = opened.pop_all()
            return restored

    async def _restore_workspace_and_events(
        self, workspace: Workspace, as_of: datetime, state: EventHistoryState, opened: AsyncExitStack
    ) -> _Restored:
        history = self._ports.workspace.history
        past_workspace = await opened.enter_async_context(history.restore(workspace.id, as_of))
        async with past_workspace.transactions.read(workspace.id) as transaction:
            workspaces = await transaction.tables.list_rows(Workspace)
        if not workspaces:
            raise history_unavailable_error("the workspace was recorded", workspace.created_at)
        events = self._ports.registry.open_adapter(
            "events", self._settings.history.store, base_folder=self._ports.folder
        )
        opened.push_async_callback(events.aclose)
        await events.start()
        await self._copy_events(workspace.id, as_of, events)
        return _Restored(
            opened, workspaces[0], await self._bind_to_past_stores(events, past_workspace, as_of, state)
        )

    async def _copy_events(self, workspace_id: UUID, as_of: datetime, store: Any) -> None:
        events = self._ports.events
        waiting: list[Any] = []
        async for piece in events.stream_events_as_of(workspace_id, as_of):
            waiting += piece
            if len(waiting) >= _EVENTS_PER_APPEND:
                await store.append(waiting)
                waiting = []
        if waiting:
            await store.append(waiting)
        for event_id in await events.list_revoked_links_as_of(workspace_id, as_of):
            await store.revoke_identity_link(workspace_id, event_id)

    async def _bind_to_past_stores(
        self, events: Any, past_workspace: WorkspaceStore, as_of: datetime, state: EventHistoryState
    ) -> Bindings:
        present = self._ports
        queue = PastQueue(await present.queue.state(), state, as_of)
        parts: dict[str, Any] = {
            part.name: NoHistory(part.name.replace("_", " ")) for part in fields(WorkspaceStore)
        }
        parts |= {name: getattr(past_workspace, name) for name in _RESTORED_STORES}
        parts |= {name: getattr(present.workspace, name) for name in _KEPT_STORES}
        adapters = {name: present.adapter(name) for name in PORTS} | {
            "events": events,
            "queue": queue,
            "workspace": WorkspaceStore(**parts),
        }
        past = Ports(self._settings, present.folder, present.registry, lambda: as_of, adapters)
        return bind_past_query_components(past, self._settings)


def _busy_error() -> ServiceUnavailable:
    return ServiceUnavailable(
        "Too many earlier instants are read at the moment",
        "as_of_busy",
        hint="Send the request again in a few seconds.",
    )


def _deletion_warning(state: EventHistoryState) -> str:
    assert state.deleted_at is not None
    return (
        f"Events were erased or reached the end of their retention, last at {format_timestamp(state.deleted_at)}; "
        "the answer counts as if they had never been sent."
    )
