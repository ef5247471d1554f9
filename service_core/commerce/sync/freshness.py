"""Computes up to when the data of polled revenue providers is complete."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from service_core.access.models import Workspace
from service_core.analytics.connections.models import ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.sync.connection_sync import complete_through

_CACHED_FOR: Final = timedelta(minutes=1)
"""Lifetime of the cached value of a workspace, which every read needs."""
_MAX_CACHED_WORKSPACES: Final = 10_000
"""Workspaces that are known at a time."""


@dataclass(frozen=True, slots=True)
class PollState:
    """Polling state of a provider.

    Attributes:
        since: earlier messages came by webhook and are not polled; None if there is no such time.
        read_at: start of the last successful poll; None before the first.
    """

    since: datetime | None = None
    read_at: datetime | None = None


class PollStates(Protocol):
    """Stores the polling state of each provider of a workspace."""

    async def states_by_provider(self, workspace_id: UUID) -> Mapping[str, PollState]:
        """Returns the states by provider; one that was never polled may be missing.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def save_poll_state(self, workspace_id: UUID, provider: str, state: PollState) -> None:
        """Replace how far a provider was read. It is forgotten with the connection."""


def polled_through(state: PollState | None, now: datetime) -> datetime:
    """Returns up to when the data of a provider is complete; now for one that only sends webhooks."""
    return now if state is None or state.read_at is None else complete_through(state.read_at, now)


@dataclass(frozen=True, slots=True)
class _ProviderTimes:
    """Time of the last sync of each provider of a workspace.

    Attributes:
        oldest_poll: of the polled ones; None if none is polled.
        missing_since: last message of a connected provider whose plugin is not installed; None if all are.
    """

    oldest_poll: datetime | None
    missing_since: datetime | None

    def complete_through(self, now: datetime) -> datetime:
        """Returns up to when the messages of all providers are known."""
        polled = now if self.oldest_poll is None else complete_through(self.oldest_poll, now)
        return polled if self.missing_since is None else min(polled, self.missing_since)


@dataclass(frozen=True, slots=True)
class ProviderFreshness:
    """Computes up to when payments of connected providers are complete; cached for a minute per workspace."""

    connections: Connections
    poll_states: PollStates
    providers: InstalledProviders
    _times: dict[UUID, tuple[datetime, _ProviderTimes]] = field(default_factory=dict)

    async def complete_through(self, workspace: Workspace, now: datetime) -> datetime:
        """Returns up to when payments are complete; the creation of the workspace if that cannot be read."""
        read_at, times = self._times.get(workspace.id, (None, None))
        if read_at is None or times is None or not timedelta() <= now - read_at < _CACHED_FOR:
            try:
                times = await self._read_times_of_connected_providers(workspace.id)
            except StoreUnavailable:
                return workspace.created_at
            if len(self._times) >= _MAX_CACHED_WORKSPACES:
                self._times.clear()
            self._times[workspace.id] = now, times
        return times.complete_through(now)

    async def _read_times_of_connected_providers(self, workspace_id: UUID) -> _ProviderTimes:
        """Returns the oldest times; a provider without its plugin gets no message, so its later ones are unknown."""
        states = await self.poll_states.states_by_provider(workspace_id)
        connected = [
            connection
            for connection in await self.connections.list_connections_oldest_first(workspace_id)
            if connection.kind is ProviderKind.REVENUE and (connection.is_connected or connection.has_failed)
        ]
        polled = (state.read_at for c in connected if (state := states.get(c.provider)) is not None)
        missing = (
            connection.last_synced_at or connection.created_at
            for connection in connected
            if connection.provider not in self.providers.by_id
        )
        return _ProviderTimes(
            min((at for at in polled if at is not None), default=None), min(missing, default=None)
        )
