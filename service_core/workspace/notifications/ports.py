"""Ports to the outbox of notifications, and to the consent of people who receive e-mails."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from service_core.workspace.notifications.models import DeliveryQueue, Notification


@dataclass(frozen=True, slots=True, kw_only=True)
class EmailConsent:
    """What a person answered about the e-mails of one source.

    Attributes:
        source_id: id of the resource that sends them.
        confirmed_at: when the address was confirmed; None for one that was not, and for members.
        unsubscribed_at: when the person asked for no more e-mails.
    """

    source_id: UUID
    email: str
    confirmed_at: datetime | None = None
    unsubscribed_at: datetime | None = None


class NotificationOutbox(Protocol):
    """Stores notifications until they are sent, and their results afterwards."""

    async def add_notifications_if_absent(self, notifications: Sequence[Notification]) -> int:
        """Adds notifications; one of the same source, occurrence, channel and target stays. Returns how many were added.

        A request to confirm that was skipped, or that failed a day ago or earlier, is replaced.
        """

    async def list_due_notifications(
        self, now: datetime, limit: int, *, queue: DeliveryQueue = DeliveryQueue.MESSAGES
    ) -> Sequence[Notification]:
        """Returns notifications whose next attempt is due and which no process sends.

        Workspaces take turns, and within a workspace its sources; each source gives its longest due one first. A source with many
        due notifications thus holds up no other.

        Args:
            now: the current time.
            limit: the most to return.
            queue: whose notifications.
        """

    async def claim_notification(self, id_: UUID, holder: UUID, now: datetime, until: datetime) -> bool:
        """Claims a due notification; returns False if another process has it or it is final."""

    async def save_result(self, notification: Notification) -> None:
        """Saves the result of an attempt, and releases the claim."""

    async def list_notifications_of_source(
        self, workspace_id: UUID, source_id: UUID, limit: int
    ) -> Sequence[Notification]:
        """Returns the notifications of a source, newest first."""

    async def delete_final_before(self, instant: datetime) -> int:
        """Deletes notifications that became final before an instant, but no request to confirm; returns how many."""


class EmailConsents(Protocol):
    """Stores the consent of people by source and address."""

    async def get_consents(self, source_id: UUID) -> Mapping[str, EmailConsent]:
        """Returns the consents of a source by address."""

    async def save_consent(self, consent: EmailConsent) -> None:
        """Adds or replaces a consent."""
