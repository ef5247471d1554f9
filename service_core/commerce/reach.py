"""How far what revenue providers are asked for is believed present (semantics 19.1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol
from uuid import UUID

from service_core.access.model import Workspace
from service_core.commerce.rounds import reaches_to
from service_core.insight.connections.ports import Connections
from service_core.insight.ports import StoreUnavailable

_KEPT: Final = timedelta(minutes=1)
"""How long it is known for a workspace: every question asks."""
_MOST: Final = 10_000
"""Workspaces that are known at a time."""


@dataclass(frozen=True, slots=True)
class ProviderRead:
    """How far a provider was read.

    Attributes:
        since: what came before was told by webhooks, and is not read again; None when there is no such time.
        read_at: when the last reading with success began; None as long as there was none.
    """

    since: datetime | None = None
    read_at: datetime | None = None


class ProviderReads(Protocol):
    """How far the providers of workspaces were read."""

    async def provider_reads(self, workspace_id: UUID) -> Mapping[str, ProviderRead]:
        """By provider; one that was never read may be missing.

        Raises:
            StoreUnavailable: they cannot be read.
        """

    async def save_provider_read(self, workspace_id: UUID, provider: str, read: ProviderRead) -> None:
        """Replace how far a provider was read. It is forgotten with the connection."""


def read_through(read: ProviderRead | None, now: datetime) -> datetime:
    """Up to when what a provider tells is present; one that was never asked sends it when it happens."""
    return now if read is None or read.read_at is None else reaches_to(read.read_at, now)


@dataclass(frozen=True, slots=True)
class ProviderReach:
    """Implements the port `Reach` for the money of connected providers."""

    connections: Connections
    reads: ProviderReads
    _known: dict[UUID, tuple[datetime, datetime | None]] = field(default_factory=dict)

    async def through(self, workspace: Workspace, now: datetime) -> datetime:
        """Up to when their money is present; where that cannot be looked up, nothing is known to be."""
        asked_at, last = self._known.get(workspace.id, (None, None))
        if asked_at is None or not timedelta() <= now - asked_at < _KEPT:
            try:
                last = await self._last(workspace.id)
            except StoreUnavailable:
                return workspace.created_at
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[workspace.id] = now, last
        return now if last is None else reaches_to(last, now)

    async def _last(self, workspace_id: UUID) -> datetime | None:
        """When the one of them that was not asked for longest was; None when none is asked at all."""
        reads = await self.reads.provider_reads(workspace_id)
        asked = {provider: read.read_at for provider, read in reads.items() if read.read_at is not None}
        if not asked:
            return None
        known = await self.connections.connections(workspace_id)
        standing = {one.provider for one in known if one.is_live or one.is_broken}
        return min((at for provider, at in asked.items() if provider in standing), default=None)
