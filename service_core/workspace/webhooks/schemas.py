"""Request and response models of webhooks."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.changes.optimistic_locking import VersionedBody
from service_core.changes.schemas import DryRunBody
from service_core.kernel.schemas import BodyModel, ResponseModel
from service_core.workspace.email_reports.schemas import SentNotification
from service_core.workspace.notifications.models import NotificationStatus

EventNames = Annotated[list[str], Field(description="Names of events, as sent; 1 to 50, each once.")]


class NewWebhook(BodyModel):
    """A webhook to create."""

    name: str = Field(description="1 to 120 characters.")
    url: str = Field(description="An https address of a public host.")
    event_names: EventNames
    active: bool = True


class WebhookPatch(VersionedBody):
    """Fields to change."""

    name: str | None = None
    url: str | None = None
    event_names: EventNames | None = None
    active: bool | None = None


class WebhookPath(BaseModel):
    """Path parameters."""

    webhookId: UUID  # noqa: N815 - as in the path


class WebhookDeliveries(ResponseModel):
    """What a webhook has sent."""

    deliveries: list[SentNotification] = Field(description="The latest 50, newest first.")


class TestMessageBody(DryRunBody):
    """Body of `POST /webhooks/{webhookId}/test`."""


class TestMessageAnswer(ResponseModel):
    """A test message that will be sent, or would be after a dry run."""

    dry_run: bool
    url: str = Field(description="Where to.")
    status: NotificationStatus | None = Field(description="Null after a dry run, which sends nothing.")


class RotateWebhookSecretBody(DryRunBody):
    """Body of `POST /webhooks/{webhookId}/secret`."""
