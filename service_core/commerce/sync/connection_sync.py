"""Syncs connections in the background: hourly, one process per workspace, with backoff after errors."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from traceback import format_tb
from typing import ClassVar, Final, TypeAlias
from uuid import UUID, uuid4

from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.credentials.ports import CipherUnavailable, ConnectionSecrets
from service_core.commerce.platform_errors import CredentialsRejected, PlatformUnavailable
from service_core.commerce.sync.ports import SyncLeases
from service_core.kernel.clock import Clock
from service_core.kernel.plugin_faults import plugin_of_fault

SYNC_INTERVAL: Final = timedelta(hours=1)
"""How often a connection is synced."""
FRESH_FOR: Final = 2 * SYNC_INTERVAL
"""After this time without a sync, data is complete only up to the last one."""
ERROR_AFTER: Final = timedelta(days=1)
"""How long a platform may be unavailable before its connection has the status error."""
LEASE_DURATION: Final = timedelta(minutes=15)
"""How long a lease lasts unless it is renewed, which happens before each request to a platform."""

_FIRST_BACKOFF: Final = timedelta(minutes=1)
_MAX_BACKOFF: Final = timedelta(hours=1)
_MAX_REASON_LENGTH: Final = 500
_UNREADABLE_ANSWER: Final = "Its answer could not be read."
_SYNCED_STATUSES: Final = frozenset(
    {ConnectionStatus.CONNECTED, ConnectionStatus.PENDING, ConnectionStatus.ERROR}
)

_log: Final = logging.getLogger("touchpoint.rounds")


@dataclass(frozen=True, slots=True)
class SyncProgress:
    """Progress of the sync of a connection.

    Attributes:
        part: account or kind of data that is synced.
        done, total: number of requests; the total is None if it is unknown.
    """

    provider: str
    part: str
    done: int
    total: int | None


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """Result of the sync of a connection.

    Attributes:
        counts: number of synced objects by name.
        problem: error message; None on success.
    """

    provider: str
    counts: Mapping[str, int] = field(default_factory=dict)
    problem: str | None = None


ProgressCallback = Callable[[SyncProgress], None]
ConnectionKey: TypeAlias = tuple[UUID, str]
"""Workspace and provider of a connection."""


class LeaseLost(Exception):
    """Another process has acquired the lease."""


@dataclass(slots=True)
class _Backoff:
    """Backoff of a connection: consecutive failures, and time of the next attempt.

    Attributes:
        connection: the connection after the failure; a changed one is retried at once.
    """

    connection: Connection
    failures: int
    until: datetime


@dataclass(frozen=True, slots=True)
class SyncRun:
    """One running sync of a connection.

    Attributes:
        renew_lease: renews the lease; to be awaited before each request. It raises `LeaseLost`.
        on_progress: called after each step.
        started_at: start of the sync.
    """

    connection: Connection
    secrets: Mapping[str, str]
    renew_lease: Callable[[], Awaitable[None]]
    on_progress: ProgressCallback
    started_at: datetime

    @property
    def connection_key(self) -> ConnectionKey:
        """Returns workspace id and provider."""
        return self.connection.workspace_id, self.connection.provider


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSync(ABC):
    """Syncs the connections of one kind.

    Attributes:
        connections, secrets: the connections and their credentials; one without credentials is not synced.
        leases: which process syncs a workspace.
        clock: returns the current time.
    """

    kind: ClassVar[ProviderKind]
    connections: Connections
    secrets: ConnectionSecrets
    leases: SyncLeases
    clock: Clock
    _backoffs: dict[ConnectionKey, _Backoff] = field(default_factory=dict)

    @property
    @abstractmethod
    def supported_providers(self) -> Collection[str]:
        """Returns the ids of the providers that can be synced."""

    @abstractmethod
    async def last_sync(self, connection: Connection) -> datetime | None:
        """Returns the time of the last successful sync of a connection; None for never."""

    @abstractmethod
    async def sync_connection(self, run: SyncRun) -> tuple[Connection, Mapping[str, int]] | None:
        """Syncs one connection; returns its new state and the counts, None if it cannot be synced.

        Raises:
            PlatformUnavailable: it cannot be read now.
            CredentialsRejected: its credentials are not good.
            LeaseLost: another process syncs it.
            StoreUnavailable: something cannot be kept or read here.
        """

    @abstractmethod
    def mark_credentials_rejected(self, connection: Connection, reason: str) -> Connection:
        """Returns the connection with rejected credentials."""

    async def list_due_workspaces(self) -> list[UUID]:
        """Returns the workspaces with a connection that is due.

        Raises:
            StoreUnavailable: connections cannot be read.
        """
        connected = set(await self.secrets.list_connections_with_secrets())
        due = []
        for id_ in sorted({id_ for id_, provider in connected if provider in self.supported_providers}):
            for connection in await self._syncable_connections(id_):
                if (id_, connection.provider) in connected and await self._is_due_and_not_backed_off(
                    connection
                ):
                    due.append(id_)
                    break
        return due

    async def sync_workspace_unless_leased(
        self,
        workspace_id: UUID,
        *,
        ignore_schedule: bool = False,
        on_progress: ProgressCallback = lambda _: None,
    ) -> list[SyncOutcome] | None:
        """Syncs the due connections of a workspace, each independent of the others; None while another process has the lease.

        Args:
            workspace_id: whose connections.
            ignore_schedule: sync connections that are not due, too.
            on_progress: called after each step.

        Raises:
            StoreUnavailable: a store of this deployment failed; the connection is not at fault.
        """
        holder = uuid4()
        if not await self._acquire_lease(workspace_id, holder):
            return None
        try:
            return [
                outcome
                for connection in await self._syncable_connections(workspace_id)
                if ignore_schedule or await self._is_due_and_not_backed_off(connection)
                if (outcome := await self._sync_and_save_or_back_off(connection, holder, on_progress))
                is not None
            ]
        except LeaseLost:
            return None
        finally:
            await self.leases.release_lease(workspace_id, self.kind, holder)

    async def _syncable_connections(self, workspace_id: UUID) -> list[Connection]:
        """Returns connections that can be synced, without those that have to be connected again."""
        known = await self.connections.list_connections_oldest_first(workspace_id)
        return [
            connection
            for connection in known
            if connection.kind is self.kind
            and connection.provider in self.supported_providers
            and connection.status in _SYNCED_STATUSES
        ]

    async def _is_due_and_not_backed_off(self, connection: Connection) -> bool:
        now, waits = self.clock(), self._current_backoff(connection)
        if waits is not None and waits.until > now:
            return False
        last = await self.last_sync(connection)
        return last is None or now - last >= SYNC_INTERVAL

    def _current_backoff(self, connection: Connection) -> _Backoff | None:
        waits = self._backoffs.get((connection.workspace_id, connection.provider))
        return waits if waits is not None and _is_unchanged(waits.connection, connection) else None

    async def _acquire_lease(self, workspace_id: UUID, holder: UUID) -> bool:
        now = self.clock()
        return await self.leases.acquire_or_renew_lease(
            workspace_id, self.kind, holder, now, now + LEASE_DURATION
        )

    async def _sync_and_save_or_back_off(
        self, connection: Connection, holder: UUID, on_progress: ProgressCallback
    ) -> SyncOutcome | None:
        """Syncs a connection and saves its status; returns None if there is nothing to sync."""
        connection_key = connection.workspace_id, connection.provider

        async def renew_lease_or_raise() -> None:
            if not await self._acquire_lease(connection.workspace_id, holder):
                raise LeaseLost

        try:
            secrets = await self.secrets.find_secrets(*connection_key)
        except CipherUnavailable:
            return await self._save_unreachable_and_back_off(
                connection, "Its credentials cannot be opened.", None
            )
        if secrets is None:
            return None
        run = SyncRun(connection, secrets, renew_lease_or_raise, on_progress, self.clock())
        try:
            read = await self.sync_connection(run)
        except (LeaseLost, StoreUnavailable):
            raise
        except Exception as fault:  # noqa: BLE001 - a plugin's mistake stays with its connection
            return await self._save_failure_and_back_off(run, fault)
        self._backoffs.pop(connection_key, None)
        if read is None:
            self._backoffs[connection_key] = _Backoff(connection, 0, self.clock() + SYNC_INTERVAL)
            return None
        after, counts = read
        await self._save_if_unchanged(connection, after)
        return SyncOutcome(connection.provider, counts)

    async def _save_failure_and_back_off(self, run: SyncRun, error: Exception) -> SyncOutcome:
        """Saves why a connection could not be synced."""
        connection, secrets = run.connection, run.secrets
        if isinstance(error, CredentialsRejected):
            reason = redact_and_shorten_reason(str(error), secrets)
            return await self._save_and_log_backoff(
                connection, self.mark_credentials_rejected(connection, reason), reason, SYNC_INTERVAL
            )
        if isinstance(error, PlatformUnavailable):
            return await self._save_unreachable_and_back_off(
                connection, redact_and_shorten_reason(str(error), secrets), error.retry_after
            )
        # Its text may repeat what was sent, so only its type and place are logged.
        frames = "".join(format_tb(error.__traceback__))
        _log.error("the plugin of %s failed: %s\n%s", connection.provider, type(error).__name__, frames)
        plugin = plugin_of_fault(error)
        reason = f"Plugin {plugin} failed with {type(error).__name__}." if plugin else _UNREADABLE_ANSWER
        return await self._save_unreachable_and_back_off(connection, reason, None)

    async def _save_unreachable_and_back_off(
        self, connection: Connection, reason: str, retry_after: float | None
    ) -> SyncOutcome:
        """Saves the error and delays the next attempt."""
        before = self._current_backoff(connection)
        failures = before.failures + 1 if before else 1
        after = mark_unreachable_after_a_day(
            connection, reason, await self.last_sync(connection), self.clock()
        )
        return await self._save_and_log_backoff(
            connection, after, reason, backoff_delay(failures, retry_after), failures
        )

    async def _save_and_log_backoff(
        self, before: Connection, after: Connection, reason: str, delay: timedelta, failures: int = 1
    ) -> SyncOutcome:
        connection_key = before.workspace_id, before.provider
        self._backoffs[connection_key] = _Backoff(after, failures, self.clock() + delay)
        _log.warning("%s of workspace %s cannot be read: %s", before.provider, before.workspace_id, reason)
        await self._save_if_unchanged(before, after)
        return SyncOutcome(before.provider, problem=reason)

    async def _save_if_unchanged(self, before: Connection, after: Connection) -> None:
        """Saves the connection unless it was changed or removed meanwhile."""
        known = await self.connections.list_connections_oldest_first(before.workspace_id)
        now = next((connection for connection in known if _is_unchanged(connection, before)), None)
        if now is None or after == before:
            return
        times = [
            connection.last_synced_at for connection in (now, after) if connection.last_synced_at is not None
        ]
        await self.connections.save_connection_keeping_created_at(
            replace(after, last_synced_at=max(times, default=None))
        )


def complete_through(last_sync: datetime, now: datetime) -> datetime:
    """Returns up to when data is complete: now if the last sync is recent, else the time of that sync."""
    return now if now - last_sync < FRESH_FOR else last_sync


def mark_unreachable_after_a_day(
    connection: Connection, reason: str, last_sync: datetime | None, now: datetime
) -> Connection:
    """Returns the connection with the error: at once if it was never synced, else after `ERROR_AFTER`."""
    if last_sync is None:
        return replace(connection, error=reason)
    if now - last_sync < ERROR_AFTER:
        return connection
    return replace(connection, status=ConnectionStatus.ERROR, error=reason)


def backoff_delay(failures: int, retry_after: float | None) -> timedelta:
    """Returns the delay after consecutive failures, at least as long as the platform requests."""
    doubled = min(_MAX_BACKOFF, _FIRST_BACKOFF * (1 << min(failures - 1, 10)))
    return max(doubled, timedelta(seconds=retry_after or 0))


def redact_and_shorten_reason(reason: str, secrets: Mapping[str, str]) -> str:
    """Returns a shortened reason in which credentials are replaced by ``***``."""
    for value in secrets.values():
        reason = reason.replace(value, "***")
    return reason[:_MAX_REASON_LENGTH]


def _is_unchanged(connection: Connection, other: Connection) -> bool:
    """Returns whether a connection is unchanged, apart from the time of its last sync."""
    return replace(connection, last_synced_at=None) == replace(other, last_synced_at=None)
