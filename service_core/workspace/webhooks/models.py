"""Stored webhooks."""

from typing import ClassVar

from pydantic import Field

from service_core.access.models import Workspace
from service_core.changes.resource import Resource
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
