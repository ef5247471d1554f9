"""`POST /webhooks/{provider}/{workspace_public_id}` without its transport (contract 11.4).

Whatever fails on the way to what is kept (`keeping`) is answered 503, and the provider tries again.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from service_core.access.model import Workspace
from service_core.access.workspaces import Workspaces
from service_core.commerce.credentials import ConnectionSecrets
from service_core.commerce.providers.keeping import Keeping
from service_core.commerce.providers.model import Delivery
from service_core.commerce.providers.ports import RevenueProvider
from service_core.insight.connections.model import Connection, ConnectionStatus
from service_core.insight.connections.ports import Connections
from service_core.insight.ports import StoreUnavailable
from service_core.intake.accept import TEXTS
from service_core.intake.model import Channel, Reason
from service_core.intake.ports import IngestQueue, Offer, QueueFailed
from service_core.intake.track import UNKNOWN_PATH, Answer
from service_core.kernel.clock import Clock

MAX_BODY: Final = 1_000_000
"""Bytes of a message; an order of a shop may have hundreds of lines."""

SYNC_TOLD: Final = timedelta(minutes=1)
"""How often a message moves ``last_synced_at`` of its connection, at most."""

_TOO_LARGE: Final = Answer(413, {"error": "Payload too large. Maximum size is 1MB."})
_FORGED: Final = Answer(401, {"error": TEXTS[Reason.INVALID_SIGNATURE]})
_DOWN: Final = Answer(503, {"error": "The message cannot be kept at the moment"}, {"retry-after": "5"})

_log: Final = logging.getLogger("touchpoint.webhooks")


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Takes the messages of the installed revenue providers.

    Args:
        providers: by id.
        keeping: what becomes of a genuine message.
    """

    providers: Mapping[str, RevenueProvider]
    workspaces: Workspaces
    connections: Connections
    secrets: ConnectionSecrets
    keeping: Keeping
    queue: IngestQueue
    clock: Clock

    async def take(
        self, provider_id: str, public_id: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        """Check a message, keep what it says, and answer its provider.

        Args:
            provider_id: as the path names it.
            public_id: of the workspace, as the path names it.
            headers: names in lower case.
            body: byte for byte; None when it was over `MAX_BODY`.
        """
        try:
            return await self._take(provider_id, public_id, headers, body)
        except StoreUnavailable:
            return _DOWN
        except QueueFailed as failure:
            _log.error("a message of %s is not kept: %s", provider_id, failure.detail, exc_info=failure)
            return _DOWN

    async def _take(
        self, provider_id: str, public_id: str, headers: Mapping[str, str], body: bytes | None
    ) -> Answer:
        provider = self.providers.get(provider_id)
        workspace = await self.workspaces.find_public(public_id) if provider else None
        if provider is None or workspace is None or not workspace.active:
            return UNKNOWN_PATH
        connection = await self._connection(workspace.id, provider_id)
        if connection is None:
            return UNKNOWN_PATH
        if body is None:
            return await self._refuse(workspace, Reason.TOO_LARGE, _TOO_LARGE)
        delivery = Delivery(headers, body, self.clock())
        if not provider.is_genuine(delivery, await self._secrets(connection)):
            return await self._refuse(workspace, Reason.INVALID_SIGNATURE, _FORGED)
        offer = await self._keep(workspace, provider, delivery)
        await self._tell_synced(connection, delivery)
        return Answer(200, {"received": True, "duplicate": offer is not Offer.QUEUED})

    async def _connection(self, workspace_id: UUID, provider_id: str) -> Connection | None:
        known = await self.connections.connections(workspace_id)
        live = (one for one in known if one.status is not ConnectionStatus.DISCONNECTED)
        return next((one for one in live if one.provider == provider_id), None)

    async def _secrets(self, connection: Connection) -> Mapping[str, str]:
        return await self.secrets.secrets(connection.workspace_id, connection.provider) or {}

    async def _keep(
        self, workspace: Workspace, provider: RevenueProvider, delivery: Delivery
    ) -> Offer | None:
        try:
            (offer,) = await self.keeping.keep(workspace.id, provider, [delivery])
        except QueueFailed:
            await self._count(workspace, Reason.ENQUEUE_FAILED)
            raise
        if offer is None:
            await self.queue.repeat(workspace.id, workspace.id, Channel.WEBHOOK, delivery.received_at)
        return offer

    async def _refuse(self, workspace: Workspace, reason: Reason, answer: Answer) -> Answer:
        await self._count(workspace, reason)
        return answer

    async def _count(self, workspace: Workspace, reason: Reason) -> None:
        await self.queue.reject(workspace.id, workspace.id, Channel.WEBHOOK, reason, self.clock())

    async def _tell_synced(self, connection: Connection, delivery: Delivery) -> None:
        """Move ``last_synced_at``; the message is kept already, whatever becomes of this."""
        before = connection.last_synced_at
        if before is not None and delivery.received_at - before < SYNC_TOLD:
            return
        try:
            await self.connections.tell_synced(
                connection.workspace_id, connection.provider, delivery.received_at
            )
        except StoreUnavailable:
            _log.warning("the connection to %s does not know of its last message", connection.provider)
