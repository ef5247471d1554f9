"""Asking revenue providers what happened, besides what they send."""

from collections.abc import Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final

from service_core.access.workspaces import Workspaces
from service_core.commerce.providers.keeping import Keeping
from service_core.commerce.providers.model import Delivery
from service_core.commerce.providers.ports import Poll, Pollable
from service_core.commerce.reach import ProviderRead, ProviderReads
from service_core.commerce.rounds import HOURLY, Progress, Rounds, Visit
from service_core.insight.connections.model import Connection, ConnectionStatus, ProviderKind
from service_core.insight.ports import StoreUnavailable
from service_core.intake.ports import Offer, QueueFailed

OVERLAP: Final = HOURLY
"""How far a reading goes back behind the one before: what a provider lists late is found, and doubles nothing."""


@dataclass(frozen=True, slots=True)
class ProviderReading(Rounds):
    """Reads the revenue providers that workspaces have connected with a credential to ask them.

    Attributes:
        providers: those that can be asked, by id.
        workspaces: whose; nothing is read for one that is not active.
        reads: how far each was read.
        keeping: what becomes of a message.
        left_out: kinds of messages that nobody wants, by provider.
    """

    kind: ClassVar[ProviderKind] = ProviderKind.REVENUE
    providers: Mapping[str, Pollable]
    workspaces: Workspaces
    reads: ProviderReads
    keeping: Keeping
    left_out: Mapping[str, Collection[str]]

    @property
    def readable(self) -> Collection[str]:
        """Ids of the providers."""
        return self.providers.keys()

    async def last_read(self, connection: Connection) -> datetime | None:
        """When it was asked: webhooks move when it was synced, and tell nothing of those that did not come."""
        return (await self._before(connection)).read_at

    async def visit(self, visit: Visit) -> tuple[Connection, Mapping[str, int]] | None:
        """Read what happened since the last time; None of a connection that only takes webhooks.

        Raises:
            PlatformDown: the provider cannot be read now.
            PlatformRefused: its credentials are not good.
            Overtaken: another process reads it.
            StoreUnavailable: what was read cannot be kept.
        """
        connection, provider = visit.connection, self.providers[visit.connection.provider]
        workspace = await self.workspaces.find(connection.workspace_id)
        before = await self._before(connection)
        if not provider.is_open(visit.secrets):
            if before.read_at is not None:
                await self._mark(connection, ProviderRead(since=before.read_at))
            return None
        if workspace is None or not workspace.active:
            return None
        try:
            found = await self._read(visit, provider, before)
        except QueueFailed as fault:
            raise StoreUnavailable from fault
        await self._mark(connection, replace(before, read_at=visit.began_at))
        after = replace(
            connection, status=ConnectionStatus.CONNECTED, error=None, last_synced_at=visit.began_at
        )
        return after, found

    def refused(self, connection: Connection, reason: str) -> Connection:
        """It is in error, and still takes webhooks; it is tried again each hour."""
        return replace(connection, status=ConnectionStatus.ERROR, error=reason)

    async def _read(self, visit: Visit, provider: Pollable, before: ProviderRead) -> Mapping[str, int]:
        """Keep every message there is; returns how many, and how many of them were not kept before."""
        connection, since = visit.connection, before.read_at or before.since

        async def kept(ids: Collection[str]) -> Collection[str]:
            return await self.keeping.messages.kept_messages(connection.workspace_id, provider.id, ids)

        poll = Poll(
            secrets=visit.secrets,
            accounts=tuple(account.id for account in connection.accounts),
            since=None if since is None else since - OVERLAP,
            left_out=self.left_out.get(provider.id, ()),
            kept=kept,
        )
        read = new = 0
        async with aclosing(provider.messages(poll)) as pages:
            async for page in pages:
                await visit.hold()
                now = self.clock()
                deliveries = [Delivery(message.headers, message.body, now) for message in page]
                offers = await self.keeping.keep(connection.workspace_id, provider, deliveries)
                read, new = read + len(page), new + offers.count(Offer.QUEUED)
                visit.telling(Progress(provider.id, "messages", read, None))
        return {"messages": read, "new": new}

    async def _before(self, connection: Connection) -> ProviderRead:
        known = await self.reads.provider_reads(connection.workspace_id)
        return known.get(connection.provider, ProviderRead())

    async def _mark(self, connection: Connection, read: ProviderRead) -> None:
        await self.reads.save_provider_read(connection.workspace_id, connection.provider, read)
