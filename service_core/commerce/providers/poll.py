"""Polls revenue providers for messages that no webhook delivered."""

from collections.abc import Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final

from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.providers.message_store import MessageStore
from service_core.commerce.providers.models import WebhookDelivery
from service_core.commerce.providers.ports import PollableProvider, PollRequest
from service_core.commerce.sync.connection_sync import SYNC_INTERVAL, ConnectionSync, SyncProgress, SyncRun
from service_core.commerce.sync.freshness import PollState, PollStates
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult

POLL_OVERLAP: Final = SYNC_INTERVAL
"""Overlap of one poll with the poll before: messages listed late are found; repeats are dropped."""


@dataclass(frozen=True, slots=True)
class ProviderSync(ConnectionSync):
    """Reads the revenue providers that workspaces have connected with a credential to ask them.

    Attributes:
        providers: those that can be asked, by id.
        workspaces: whose; nothing is read for one that is not active.
        poll_states: up to when each was polled.
        message_store: stores the messages.
        excluded_kinds: kinds of messages that are not polled, by provider.
    """

    kind: ClassVar[ProviderKind] = ProviderKind.REVENUE
    providers: Mapping[str, PollableProvider]
    workspaces: WorkspaceCache
    poll_states: PollStates
    message_store: MessageStore
    excluded_kinds: Mapping[str, Collection[str]]

    @property
    def supported_providers(self) -> Collection[str]:
        """Ids of the providers."""
        return self.providers.keys()

    async def last_sync(self, connection: Connection) -> datetime | None:
        """Returns the time of the last poll; `last_synced_at` moves with webhooks and does not prove that none was missed."""
        return (await self._poll_state(connection)).read_at

    async def sync_connection(self, run: SyncRun) -> tuple[Connection, Mapping[str, int]] | None:
        """Read what happened since the last time; None of a connection that only takes webhooks.

        Raises:
            PlatformUnavailable: the provider cannot be read now.
            CredentialsRejected: its credentials are not good.
            LeaseLost: another process syncs it.
            StoreUnavailable: what was read cannot be kept.
        """
        connection, provider = run.connection, self.providers[run.connection.provider]
        workspace = await self.workspaces.find_by_id(connection.workspace_id)
        before = await self._poll_state(connection)
        if not provider.can_poll(run.secrets):
            if before.read_at is not None:
                await self._save_poll_state(connection, PollState(since=before.read_at))
            return None
        if workspace is None or not workspace.active:
            return None
        try:
            counts = await self._poll_and_store_messages(run, provider, before)
        except EnqueueFailed as fault:
            raise StoreUnavailable from fault
        await self._save_poll_state(connection, replace(before, read_at=run.started_at))
        after = replace(
            connection, status=ConnectionStatus.CONNECTED, error=None, last_synced_at=run.started_at
        )
        return after, counts

    def mark_credentials_rejected(self, connection: Connection, reason: str) -> Connection:
        """Returns the connection in error: it still receives webhooks and is polled again each hour."""
        return replace(connection, status=ConnectionStatus.ERROR, error=reason)

    async def _poll_and_store_messages(
        self, run: SyncRun, provider: PollableProvider, state: PollState
    ) -> Mapping[str, int]:
        """Stores the polled messages; returns how many there were and how many were new."""
        connection, since = run.connection, state.read_at or state.since

        async def find_processed_ids(ids: Collection[str]) -> Collection[str]:
            return await self.message_store.processed_messages.find_processed_ids(
                connection.workspace_id, provider.id, ids
            )

        poll = PollRequest(
            secrets=run.secrets,
            accounts=tuple(account.id for account in connection.accounts),
            since=None if since is None else since - POLL_OVERLAP,
            excluded_kinds=self.excluded_kinds.get(provider.id, ()),
            processed_ids=find_processed_ids,
        )
        read = new = 0
        async with aclosing(provider.poll_messages(poll)) as pages:
            async for page in pages:
                await run.renew_lease()
                now = self.clock()
                deliveries = [WebhookDelivery(message.headers, message.body, now) for message in page]
                offers = await self.message_store.store_new_messages(
                    connection.workspace_id, provider, deliveries
                )
                read, new = read + len(page), new + offers.count(EnqueueResult.QUEUED)
                run.on_progress(SyncProgress(provider.id, "messages", read, None))
        return {"messages": read, "new": new}

    async def _poll_state(self, connection: Connection) -> PollState:
        known = await self.poll_states.states_by_provider(connection.workspace_id)
        return known.get(connection.provider, PollState())

    async def _save_poll_state(self, connection: Connection, read: PollState) -> None:
        await self.poll_states.save_poll_state(connection.workspace_id, connection.provider, read)
