"""A notification in the outbox and its state transitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final
from uuid import UUID

from service_core.kernel.ids import new_id

RETRY_DELAYS: Final = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
)
"""Pause after each failed attempt; the attempt after the last pause is the last one."""

MAX_ERROR_LENGTH: Final = 300

CONFIRM_OCCURRENCE: Final = "confirm"
"""Occurrence of the e-mail in which a recipient confirms the address: it is sent once, so its result is kept."""

RESOLVED_SUFFIX: Final = " resolved"
"""End of the occurrence of an alert that ended to fire."""

FAILED_CONFIRMATION_PAUSE: Final = timedelta(days=1)
"""Time after which a request to confirm that could not be sent is sent again."""


class Channel(StrEnum):
    """How a notification reaches its target."""

    EMAIL = "email"
    WEBHOOK = "webhook"


class DeliveryQueue(StrEnum):
    """Which worker delivers a notification. Each has slots of its own, so that none waits for another."""

    MESSAGES = "messages"
    PLUGIN_TASKS = "plugin_tasks"
    EVENT_WEBHOOKS = "event_webhooks"


REACTION_TYPE: Final = "plugin_reaction"
JOB_TYPE: Final = "plugin_job"
EVENT_WEBHOOK_TYPE: Final = "event_webhook"
TEST_WEBHOOK_TYPE: Final = "test_webhook"

SOURCE_TYPES_BY_QUEUE: Final[Mapping[DeliveryQueue, tuple[str, ...]]] = MappingProxyType(
    {
        DeliveryQueue.PLUGIN_TASKS: (REACTION_TYPE, JOB_TYPE),
        DeliveryQueue.EVENT_WEBHOOKS: (EVENT_WEBHOOK_TYPE, TEST_WEBHOOK_TYPE),
    }
)
"""The source types of each queue; those that are in none, such as e-mails and alerts, are messages."""


class NotificationStatus(StrEnum):
    """State of a notification; the last three are final."""

    QUEUED = "queued"
    RETRYING = "retrying"
    SENT = "sent"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """One message to one target; unique by source, occurrence, channel and target.

    Attributes:
        source_type: resource type of its source, such as ``email_report``.
        source_id: id of the source.
        occurrence: what it is about, such as the instant an e-mail was due.
        target: e-mail address or URL.
        subject: line for the list of sent notifications.
        payload: body of the message as text; None where it is built when it is sent.
        due_at: the present of the reads it is built from.
        next_attempt_at: None when it is final.
        done_at: when it became final.
    """

    id: UUID = field(default_factory=new_id)
    workspace_id: UUID
    source_type: str
    source_id: UUID
    occurrence: str
    channel: Channel
    target: str
    subject: str
    due_at: datetime
    created_at: datetime
    next_attempt_at: datetime | None
    payload: str | None = field(default=None, repr=False)
    status: NotificationStatus = NotificationStatus.QUEUED
    attempts: int = 0
    http_status: int | None = None
    error: str | None = None
    done_at: datetime | None = None


def mark_sent(notification: Notification, now: datetime, http_status: int | None = None) -> Notification:
    """Returns the notification as sent, without its payload."""
    return replace(
        notification,
        status=NotificationStatus.SENT,
        attempts=notification.attempts + 1,
        next_attempt_at=None,
        payload=None,
        http_status=http_status,
        error=None,
        done_at=now,
    )


def mark_skipped(notification: Notification, reason: str, now: datetime) -> Notification:
    """Returns the notification as not sent, because it has no place to go any more."""
    return replace(
        notification,
        status=NotificationStatus.SKIPPED,
        next_attempt_at=None,
        payload=None,
        error=reason[:MAX_ERROR_LENGTH],
        done_at=now,
    )


def retry_later_or_fail_after_last_attempt(
    notification: Notification, error: str, now: datetime, http_status: int | None = None
) -> Notification:
    """Returns the notification with its next attempt, or as failed after the last one."""
    attempts = notification.attempts + 1
    is_last = attempts > len(RETRY_DELAYS)
    return replace(
        notification,
        status=NotificationStatus.FAILED if is_last else NotificationStatus.RETRYING,
        attempts=attempts,
        next_attempt_at=None if is_last else now + RETRY_DELAYS[attempts - 1],
        payload=None if is_last else notification.payload,
        http_status=http_status,
        error=error[:MAX_ERROR_LENGTH],
        done_at=now if is_last else None,
    )
