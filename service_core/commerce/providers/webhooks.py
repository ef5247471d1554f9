"""Handles `POST /webhooks/{provider}/{workspace_public_id}`, independent of the HTTP server.

A failure of the message store, or of the check of a signature, is answered 503, and the provider tries again.
A verified message that its plugin cannot map is kept raw and answered 200; so is one of a connected provider whose
plugin is not installed, as long as not too many come.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from service_core.access.models import Workspace
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.connections.models import Connection, ConnectionStatus, ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.ports import StoreUnavailable
from service_core.commerce.credentials.ports import ConnectionSecrets
from service_core.commerce.providers.message_store import MessageStore
from service_core.commerce.providers.models import WebhookDelivery
from service_core.commerce.providers.ports import RevenueProvider
from service_core.commerce.providers.unverified_messages import UnverifiedMessages
from service_core.ingestion.models import IngestEndpoint, RejectionReason
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue
from service_core.ingestion.track import REJECTION_RESPONSES, UNKNOWN_PATH, IngestResponse
from service_core.ingestion.validation import REJECTION_MESSAGES
from service_core.kernel.clock import Clock

MAX_WEBHOOK_BYTES: Final = 1_000_000
"""Bytes of a message; an order of a shop may have hundreds of lines."""

SYNC_MARK_INTERVAL: Final = timedelta(minutes=1)
"""Least time between two updates of ``last_synced_at`` by messages."""

_WEBHOOK_KINDS: Final = frozenset({ProviderKind.REVENUE, ProviderKind.EVENTS})

_TOO_LARGE: Final = IngestResponse(413, {"error": "Payload too large. Maximum size is 1MB."})
_INVALID_SIGNATURE: Final = IngestResponse(
    401, {"error": REJECTION_MESSAGES[RejectionReason.INVALID_SIGNATURE]}
)
_STORE_UNAVAILABLE: Final = IngestResponse(
    503, {"error": "The message cannot be kept at the moment"}, {"retry-after": "5"}
)

_log: Final = logging.getLogger("touchpoint.webhooks")


@dataclass(frozen=True, slots=True)
class WebhookHandler:
    """Takes the messages of the connected revenue providers and webhook sources.

    Args:
        providers: by id.
        message_store: stores verified messages.
        unverified: keeps the messages of a connected provider whose plugin is not installed.
    """

    providers: Mapping[str, RevenueProvider]
    workspaces: WorkspaceCache
    connections: Connections
    secrets: ConnectionSecrets
    message_store: MessageStore
    queue: IngestQueue
    clock: Clock
    unverified: UnverifiedMessages

    async def handle(
        self, provider_id: str, workspace_public_id: str, headers: Mapping[str, str], body: bytes | None
    ) -> IngestResponse:
        """Verifies and stores a message, and returns the answer to its provider.

        Args:
            provider_id: as the path names it.
            workspace_public_id: of the workspace, as the path names it.
            headers: names in lower case.
            body: byte for byte; None if it was larger than `MAX_WEBHOOK_BYTES`.
        """
        try:
            return await self._verify_and_store(provider_id, workspace_public_id, headers, body)
        except StoreUnavailable:
            return _STORE_UNAVAILABLE
        except EnqueueFailed as failure:
            _log.error("a message of %s is not kept: %s", provider_id, failure.detail, exc_info=failure)
            return _STORE_UNAVAILABLE

    async def count_unsupported_encoding_and_answer(
        self, provider_id: str, workspace_public_id: str
    ) -> IngestResponse:
        """Returns the answer to a body whose content encoding is not supported, and counts it in the ledger.

        Args:
            provider_id: as the path names it.
            workspace_public_id: of the workspace, as the path names it.
        """
        reason = RejectionReason.UNSUPPORTED_ENCODING
        try:
            found = await self._find_workspace_with_live_connection(workspace_public_id, provider_id)
            if found is None:
                return UNKNOWN_PATH
            return await self._count_rejection_and_answer(
                found[0], reason, REJECTION_RESPONSES[reason].response
            )
        except StoreUnavailable:
            return _STORE_UNAVAILABLE

    async def _verify_and_store(
        self, provider_id: str, workspace_public_id: str, headers: Mapping[str, str], body: bytes | None
    ) -> IngestResponse:
        found = await self._find_workspace_with_live_connection(workspace_public_id, provider_id)
        if found is None:
            return UNKNOWN_PATH
        workspace, connection = found
        if body is None:
            return await self._count_rejection_and_answer(workspace, RejectionReason.TOO_LARGE, _TOO_LARGE)
        delivery = WebhookDelivery(headers, body, self.clock())
        provider = self.providers.get(provider_id)
        if provider is None:
            return await self._keep_unverified(workspace, provider_id, delivery)
        secrets = await self._secrets(connection)
        try:
            is_signed = provider.verify_signature(delivery, secrets)
        except Exception as fault:  # noqa: BLE001 - a plugin's mistake never loses a genuine message
            _log.error("the plugin of %s cannot check a signature: %s", provider_id, type(fault).__name__)
            return await self._count_rejection_and_answer(
                workspace, RejectionReason.ENQUEUE_FAILED, _STORE_UNAVAILABLE
            )
        if not is_signed:
            return await self._count_rejection_and_answer(
                workspace, RejectionReason.INVALID_SIGNATURE, _INVALID_SIGNATURE
            )
        offer = await self._store_delivery_unless_duplicate(workspace, provider, delivery)
        await self._mark_synced_at_most_once_a_minute(connection, delivery)
        return IngestResponse(200, {"received": True, "duplicate": offer is not EnqueueResult.QUEUED})

    async def _keep_unverified(
        self, workspace: Workspace, provider_id: str, delivery: WebhookDelivery
    ) -> IngestResponse:
        """Stores a message that no plugin can check; answers 503 where it cannot be kept, so that it is sent again."""
        try:
            offer = await self.unverified.enqueue_raw_within_hourly_limit(workspace.id, provider_id, delivery)
        except (EnqueueFailed, StoreUnavailable):
            await self._count_rejection(workspace, RejectionReason.ENQUEUE_FAILED)
            raise
        if offer is None:
            return await self._count_rejection_and_answer(
                workspace, RejectionReason.ENQUEUE_FAILED, _STORE_UNAVAILABLE
            )
        return IngestResponse(200, {"received": True, "duplicate": offer is not EnqueueResult.QUEUED})

    async def _find_workspace_with_live_connection(
        self, workspace_public_id: str, provider_id: str
    ) -> tuple[Workspace, Connection] | None:
        """Returns an active workspace and its connection to what sends webhooks; None without either."""
        workspace = await self.workspaces.find_by_public_id(workspace_public_id)
        if workspace is None or not workspace.active:
            return None
        known = await self.connections.list_connections_oldest_first(workspace.id)
        live = (
            connection
            for connection in known
            if connection.kind in _WEBHOOK_KINDS and connection.status is not ConnectionStatus.DISCONNECTED
        )
        connection = next((each for each in live if each.provider == provider_id), None)
        return None if connection is None else (workspace, connection)

    async def _secrets(self, connection: Connection) -> Mapping[str, str]:
        return await self.secrets.find_secrets(connection.workspace_id, connection.provider) or {}

    async def _store_delivery_unless_duplicate(
        self, workspace: Workspace, provider: RevenueProvider, delivery: WebhookDelivery
    ) -> EnqueueResult | None:
        try:
            (offer,) = await self.message_store.store_new_messages(workspace.id, provider, [delivery])
        except EnqueueFailed:
            await self._count_rejection(workspace, RejectionReason.ENQUEUE_FAILED)
            raise
        if offer is None:
            await self.queue.count_duplicate(
                workspace.id, workspace.id, IngestEndpoint.WEBHOOK, delivery.received_at
            )
        return offer

    async def _count_rejection_and_answer(
        self, workspace: Workspace, reason: RejectionReason, answer: IngestResponse
    ) -> IngestResponse:
        await self._count_rejection(workspace, reason)
        return answer

    async def _count_rejection(self, workspace: Workspace, reason: RejectionReason) -> None:
        await self.queue.count_rejected(
            workspace.id, workspace.id, IngestEndpoint.WEBHOOK, reason, self.clock()
        )

    async def _mark_synced_at_most_once_a_minute(
        self, connection: Connection, delivery: WebhookDelivery
    ) -> None:
        """Updates ``last_synced_at`` at most once a minute; a failure is logged, as the message is stored already."""
        before = connection.last_synced_at
        if before is not None and delivery.received_at - before < SYNC_MARK_INTERVAL:
            return
        try:
            await self.connections.mark_synced_unless_synced_later(
                connection.workspace_id, connection.provider, delivery.received_at
            )
        except StoreUnavailable:
            _log.warning("the connection to %s does not know of its last message", connection.provider)
