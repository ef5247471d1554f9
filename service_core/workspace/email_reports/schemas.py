"""Request and response models of e-mail reports."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.changes.optimistic_locking import VersionedBody
from service_core.changes.schemas import DryRunBody
from service_core.kernel.schemas import BodyModel, ResponseModel
from service_core.workspace.email_reports.models import (
    MAX_DAY_OF_MONTH,
    EmailedObjectType,
    EmailReport,
    Frequency,
    Weekday,
)
from service_core.workspace.notifications.models import Channel, Notification, NotificationStatus
from service_core.workspace.notifications.recipients import RecipientStatus


class NewEmailReport(BodyModel):
    """An e-mail report to create."""

    name: str = Field(description="Subject of the e-mails; 1 to 120 characters.")
    object_type: EmailedObjectType
    object_id: UUID = Field(description="Id of the report or dashboard.")
    frequency: Frequency = "weekly"
    weekday: Weekday = Field("monday", description="Of weekly e-mails.")
    day_of_month: int = Field(1, ge=1, le=MAX_DAY_OF_MONTH, description="Of monthly e-mails.")
    hour: int = Field(8, ge=0, le=23, description="In the time zone of the workspace.")
    recipients: list[str] = Field(
        description="1 to 20 addresses. One that is not of a member gets e-mails once its owner has confirmed it."
    )
    active: bool = True


class EmailReportPatch(VersionedBody):
    """Fields to change."""

    name: str | None = None
    frequency: Frequency | None = None
    weekday: Weekday | None = None
    day_of_month: int | None = Field(None, ge=1, le=MAX_DAY_OF_MONTH)
    hour: int | None = Field(None, ge=0, le=23)
    recipients: list[str] | None = Field(None, description="They replace the former ones.")
    active: bool | None = None


class EmailReportAnswer(EmailReport):
    """An e-mail report."""

    next_at: datetime | None = Field(description="When the next e-mail is due; null while it is paused.")
    deleted_at: None = Field(description="Null: a deleted e-mail report is not found.")


class EmailReportPath(BaseModel):
    """Path parameters."""

    emailReportId: UUID  # noqa: N815 - as in the path


class RecipientAnswer(ResponseModel):
    """A recipient and whether e-mails are sent to the address."""

    email: str
    status: RecipientStatus


class SentNotification(ResponseModel):
    """A notification of a source."""

    channel: Channel
    target: str
    subject: str
    status: NotificationStatus
    attempts: int
    http_status: int | None
    error: str | None
    created_at: datetime
    next_attempt_at: datetime | None
    done_at: datetime | None

    @classmethod
    def from_notification(cls, notification: Notification) -> "SentNotification":
        """Returns a notification without its payload."""
        return cls(**{name: getattr(notification, name) for name in cls.model_fields})


class NotificationDeliveries(ResponseModel):
    """Recipients of a source, and what was sent to them."""

    recipients: list[RecipientAnswer]
    deliveries: list[SentNotification] = Field(description="The latest 50, newest first.")


class TestEmailBody(DryRunBody):
    """To whom a test e-mail is sent."""

    to: str = Field(description="Address of a member of the workspace.")


class TestEmailAnswer(ResponseModel):
    """A test e-mail that will be sent, or would be after a dry run."""

    dry_run: bool
    to: str
    status: NotificationStatus | None = Field(description="Null after a dry run, which sends nothing.")
