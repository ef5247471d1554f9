"""`POST /webhooks/{provider}/{workspace_public_id}` without its transport (contract 11.4).

Facts of subscriptions are written before the event is offered, both under ids that follow from the
provider's own: whatever fails in between is answered 503, and the provider's next attempt adds what
is missing and doubles nothing.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from service_core.access.model import Workspace
from service_core.access.workspaces import Workspaces
from service_core.commerce.providers.model import Delivery, Mapped
from service_core.commerce.providers.ports import ConnectionSecrets, RevenueProvider
from service_core.commerce.providers.reading import arrival_of, identity_of, read_message
from service_core.commerce.subscriptions.ports import SubscriptionStore
from service_core.insight.connections.model import Connection, ConnectionStatus
from service_core.insight.connections.ports import Connections
from service_core.insight.ports import StoreUnavailable
from service_core.intake.accept import TEXTS
from service_core.intake.model import Channel, Reason
from service_core.intake.ports import IngestQueue, Offer, QueueFailed
from service_core.intake.track import UNKNOWN_PATH, Answer, Decode
from service_core.kernel.clock import Clock

MAX_BODY: Final = 1_000_000
"""Bytes of a message; an order of a shop may have hundreds of lines."""

SYNC_TOLD: Final = timedelta(minutes=1)
"""How often a message moves ``last_synced_at`` of its connection, at most."""

_ACCOUNT: Final = ""
"""Where a message does not say its account: a workspace has one connection with a provider. What is noted
there of accounts may change, and would make other subscriptions of those there are."""

_TOO_LARGE: Final = Answer(413, {"error": "Payload too large. Maximum size is 1MB."})
_FORGED: Final = Answer(401, {"error": TEXTS[Reason.INVALID_SIGNATURE]})
_DOWN: Final = Answer(503, {"error": "The message cannot be kept at the moment"}, {"retry-after": "5"})

_log: Final = logging.getLogger("touchpoint.webhooks")


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Takes the messages of the installed revenue providers.

    Args:
        providers: by id.
        decode: reads JSON, strictly.
        visitor_names: what the visitor's id stands under, by provider, besides the name each has of its own.
    """

    providers: Mapping[str, RevenueProvider]
    workspaces: Workspaces
    connections: Connections
    secrets: ConnectionSecrets
    subscriptions: SubscriptionStore
    queue: IngestQueue
    clock: Clock
    decode: Decode
    visitor_names: Mapping[str, str] = field(default_factory=dict)

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
        return Answer(200, {"received": True, "duplicate": offer is Offer.DUPLICATE})

    async def _connection(self, workspace_id: UUID, provider_id: str) -> Connection | None:
        known = await self.connections.connections(workspace_id)
        live = (one for one in known if one.status is not ConnectionStatus.DISCONNECTED)
        return next((one for one in live if one.provider == provider_id), None)

    async def _secrets(self, connection: Connection) -> Mapping[str, str]:
        return await self.secrets.secrets(connection.workspace_id, connection.provider) or {}

    async def _keep(self, workspace: Workspace, provider: RevenueProvider, delivery: Delivery) -> Offer:
        name = self.visitor_names.get(provider.id)
        told = read_message(provider, delivery, _ACCOUNT, self.decode, name)
        if isinstance(told, Mapped) and (told.states or told.deeds):
            states = [replace(state, identity=identity_of(provider.id, told)) for state in told.states]
            await self.subscriptions.add_subscription_facts(workspace.id, states, told.deeds)
        try:
            return await self.queue.offer(arrival_of(workspace.id, provider, delivery, told))
        except QueueFailed:
            await self._count(workspace, Reason.ENQUEUE_FAILED)
            raise

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
