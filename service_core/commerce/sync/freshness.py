"""Computes up to when the data of polled revenue providers is complete."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from service_core.access.models import Workspace
from service_core.analytics.connections.ports import Connections
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.sync.connection_sync import complete_through

_CACHED_FOR: Final = timedelta(minutes=1)
"""How long it is known for a workspace: every question asks."""
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
class ProviderFreshness:
    """Computes up to when payments of connected providers are complete; cached for a minute per workspace."""

    connections: Connections
    poll_states: PollStates
    _oldest_polls: dict[UUID, tuple[datetime, datetime | None]] = field(default_factory=dict)

    async def complete_through(self, workspace: Workspace, now: datetime) -> datetime:
        """Returns up to when payments are complete; the creation of the workspace if that cannot be read."""
        asked_at, last = self._oldest_polls.get(workspace.id, (None, None))
        if asked_at is None or not timedelta() <= now - asked_at < _CACHED_FOR:
            try:
                last = await self._oldest_poll_of_connected_providers(workspace.id)
            except StoreUnavailable:
                return workspace.created_at
            if len(self._oldest_polls) >= _MAX_CACHED_WORKSPACES:
                self._oldest_polls.clear()
            self._oldest_polls[workspace.id] = now, last
        return now if last is None else complete_through(last, now)

    async def _oldest_poll_of_connected_providers(self, workspace_id: UUID) -> datetime | None:
        """Returns the oldest last poll of the connected providers; None if none is polled."""
        reads = await self.poll_states.states_by_provider(workspace_id)
        polled_at = {provider: read.read_at for provider, read in reads.items() if read.read_at is not None}
        if not polled_at:
            return None
        known = await self.connections.list_connections_oldest_first(workspace_id)
        standing = {
            connection.provider for connection in known if connection.is_connected or connection.has_failed
        }
        return min((at for provider, at in polled_at.items() if provider in standing), default=None)
