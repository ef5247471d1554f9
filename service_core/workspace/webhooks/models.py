"""Stored webhooks."""

from datetime import datetime
from typing import ClassVar

from pydantic import Field

from service_core.access.models import Workspace
from service_core.changes.resource import Resource
from service_core.ingestion.models import Event
from service_core.workspace.notifications.models import (
    EVENT_WEBHOOK_TYPE,
    TEST_WEBHOOK_TYPE,
    Channel,
    Notification,
)
from service_core.workspace.notifications.webhook_secrets import derive_webhook_secret


class Webhook(Resource):
    """A stored webhook: the events that are sent, and where to."""

    resource_type: ClassVar[str] = "webhook"

    url: str
    event_names: tuple[str, ...] = Field(description="Names of events, as sent.")
    secret_version: int = Field(description="Number of the present signing secret.")
    active: bool = Field(description="False while it is paused.")


def webhook_secret(workspace: Workspace, webhook: Webhook) -> str:
    """Returns the secret that signs the requests of a webhook."""
    return derive_webhook_secret(workspace, Webhook.resource_type, webhook.id, webhook.secret_version)


def build_event_entry(webhook: Webhook, event: Event, now: datetime) -> Notification:
    """Returns the outbox entry of an event, which is sent once to a webhook."""
    return _build_entry(
        webhook, EVENT_WEBHOOK_TYPE, event.event_id, now, subject=event.event_name, due_at=event.timestamp
    )


def build_test_entry(webhook: Webhook, repeat_key: str, now: datetime) -> Notification:
    """Returns the outbox entry of a test message; the same key sends none again."""
    return _build_entry(
        webhook, TEST_WEBHOOK_TYPE, f"test:{repeat_key}", now, subject="Test message", due_at=now
    )


def _build_entry(
    webhook: Webhook, source_type: str, occurrence: str, now: datetime, *, subject: str, due_at: datetime
) -> Notification:
    return Notification(
        workspace_id=webhook.workspace_id,
        source_type=source_type,
        source_id=webhook.id,
        occurrence=occurrence,
        channel=Channel.WEBHOOK,
        target=webhook.url,
        subject=subject,
        due_at=due_at,
        created_at=now,
        next_attempt_at=now,
    )
