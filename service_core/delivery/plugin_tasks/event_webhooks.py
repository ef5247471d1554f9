"""Sends stored events to the webhooks of their workspace."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.access.models import Workspace
from service_core.analytics.ports import EventReader
from service_core.analytics.reads.event_row import build_event_row_in_major_units
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.models import Action, Change
from service_core.changes.ports import Transaction, Transactions
from service_core.changes.record_plans import get_or_404
from service_core.delivery.notifications.delivery_worker import NotificationObsolete
from service_core.delivery.notifications.signed_webhooks import EndpointGone, SignedWebhooks
from service_core.delivery.plugin_tasks.queue_tasks import is_news
from service_core.delivery.plugin_tasks.run_tasks import load_event_of_entry
from service_core.ingestion.models import Event
from service_core.ingestion.pipeline import RuleCandidate
from service_core.kernel.clock import Clock
from service_core.kernel.errors import NotFound
from service_core.kernel.timestamps import format_timestamp
from service_core.workspace.notifications.models import Notification
from service_core.workspace.notifications.ports import NotificationOutbox
from service_core.workspace.webhooks.models import Webhook, build_event_entry, webhook_secret

CACHE_LIFETIME: Final = timedelta(seconds=5)
"""How long a new or changed webhook may wait for its first event."""

EVENT_STORED: Final = "event.stored"
"""`type` of the body of an event."""
TEST_MESSAGE: Final = "webhook.test"
"""`type` of the body of a test message."""


@dataclass(frozen=True, slots=True)
class WebhookTrigger:
    """Puts stored events into the outbox, once for each active webhook that has their name.

    Attributes:
        transactions: reads webhooks.
        outbox: keeps the entries; an event that comes again adds nothing.
        clock: returns the current time.
    """

    transactions: Transactions
    outbox: NotificationOutbox
    clock: Clock
    _cached: dict[UUID, tuple[datetime, Sequence[Webhook]]] = field(default_factory=dict)

    async def list_event_names(self, workspace_id: UUID) -> frozenset[str]:
        """Returns the names of the events that a workspace has sent to its webhooks.

        Raises:
            StoreUnavailable: webhooks cannot be read.
        """
        webhooks = await self._list_active_webhooks(workspace_id)
        return frozenset(name for webhook in webhooks for name in webhook.event_names)

    async def queue_webhooks(self, candidates: Iterable[RuleCandidate]) -> None:
        """Queues stored events for the webhooks of their workspaces; repeating it has no effect.

        Raises:
            StoreUnavailable: webhooks cannot be read or nothing can be kept; the same events come again.
        """
        now = self.clock()
        entries = [
            build_event_entry(webhook, event, now)
            for event, _ in candidates
            if is_news(event)
            for webhook in await self._list_active_webhooks(event.workspace_id)
            if event.event_name in webhook.event_names
        ]
        if entries:
            await self.outbox.add_notifications_if_absent(entries)

    async def _list_active_webhooks(self, workspace_id: UUID) -> Sequence[Webhook]:
        now = self.clock()
        read_at, webhooks = self._cached.get(workspace_id, (None, ()))
        if read_at is None or not timedelta() <= now - read_at < CACHE_LIFETIME:
            async with self.transactions.read(workspace_id) as transaction:
                stored = await transaction.resources.list_all(Webhook)
            webhooks = [webhook for webhook in stored if webhook.active]
            self._cached[workspace_id] = now, webhooks
        return webhooks


@dataclass(frozen=True, slots=True)
class EventWebhookSender:
    """Sends events and test messages to webhooks; pauses a webhook whose host answers 410.

    Attributes:
        changes: reads webhooks, and pauses them.
        events: the stored events.
        webhooks: sends the requests.
        clock: returns the current time.
    """

    changes: ChangeExecutor
    events: EventReader
    webhooks: SignedWebhooks
    clock: Clock

    async def send_event(self, workspace: Workspace, entry: Notification) -> int:
        """Sends an event as it is stored now; returns the status of the answer.

        Raises:
            NotificationObsolete: the webhook was deleted or paused or has another address, the event was deleted, or the
                host answered 410.
            NotificationRefused: the host did not take it.
        """
        webhook = await self._load_webhook(workspace, entry)
        if not webhook.active:
            raise NotificationObsolete("The webhook is paused")
        event = await load_event_of_entry(self.events, workspace, entry)
        return await self._send(workspace, webhook, entry, _event_body(workspace, event))

    async def send_test_message(self, workspace: Workspace, entry: Notification) -> int:
        """Sends a test message, also to a paused webhook; returns the status of the answer.

        Raises:
            NotificationObsolete: the webhook was deleted or has another address, or the host answered 410.
            NotificationRefused: the host did not take it.
        """
        webhook = await self._load_webhook(workspace, entry)
        return await self._send(workspace, webhook, entry, _test_message_body(workspace, webhook, entry))

    async def _load_webhook(self, workspace: Workspace, entry: Notification) -> Webhook:
        async with self.changes.transactions.read(workspace.id) as transaction:
            webhook = await transaction.resources.get(Webhook, entry.source_id)
        if webhook is None:
            raise NotificationObsolete("The webhook was deleted")
        if webhook.url != entry.target:
            raise NotificationObsolete("The webhook has another address now")
        return webhook

    async def _send(
        self, workspace: Workspace, webhook: Webhook, entry: Notification, content: Mapping[str, object]
    ) -> int:
        body = json.dumps(content, default=_to_json_text).encode()
        try:
            return await self.webhooks.send(entry, webhook_secret(workspace, webhook), body, self.clock())
        except EndpointGone:
            await self._pause_unless_changed(workspace, webhook)
            raise

    async def _pause_unless_changed(self, workspace: Workspace, webhook: Webhook) -> None:
        caller = build_unlimited_read_only_caller(workspace, self.clock(), "Webhook delivery")

        async def pause_unless_changed(transaction: Transaction) -> Change:
            current = await get_or_404(transaction.resources, Webhook, webhook.id)
            is_same = current.url == webhook.url and current.active
            changed = current.with_fields(caller.now, active=False) if is_same else current
            return Change(Action.UPDATE, current, changed)

        with suppress(NotFound):  # deleted meanwhile
            await self.changes.preview_or_apply_change(
                replace(caller, is_system=True), pause_unless_changed, dry_run=False
            )


def _test_message_body(workspace: Workspace, webhook: Webhook, entry: Notification) -> dict[str, object]:
    return {
        "type": TEST_MESSAGE,
        "timestamp": format_timestamp(entry.created_at),
        "data": {"workspace": workspace.public_id, "webhook": {"id": str(webhook.id), "name": webhook.name}},
    }


def _event_body(workspace: Workspace, event: Event) -> dict[str, object]:
    return {
        "type": EVENT_STORED,
        "timestamp": format_timestamp(event.timestamp),
        "data": {"workspace": workspace.public_id, "event": build_event_row_in_major_units(event)},
    }


def _to_json_text(value: object) -> str:
    return format_timestamp(value) if isinstance(value, datetime) else str(value)
