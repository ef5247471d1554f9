"""Webhooks as a writable resource."""

from collections.abc import Sequence
from typing import Final

from service_core.access.models import Caller
from service_core.changes.optimistic_locking import sent_fields
from service_core.changes.resource import RecordReader, ResourceType, State
from service_core.changes.resource_definition import Listing, WriteContext, resource
from service_core.kernel.errors import Unprocessable
from service_core.kernel.operations import Scope
from service_core.kernel.settings import Settings
from service_core.workspace.url_rules import validate_public_url
from service_core.workspace.validation import validate_text
from service_core.workspace.webhooks.models import Webhook
from service_core.workspace.webhooks.operations import (
    list_webhook_deliveries,
    refuse_former_webhook_secret,
    replace_webhook_secret,
    send_test_message,
)
from service_core.workspace.webhooks.schemas import NewWebhook, WebhookPatch

MAX_WEBHOOKS: Final = 20
"""Webhooks of a workspace."""
MAX_NAME_LENGTH: Final = 120
MAX_EVENT_NAMES: Final = 50
MAX_EVENT_NAME_LENGTH: Final = 200


def provide_settings(
    body: NewWebhook | WebhookPatch,  # noqa: ARG001 - as `resource` calls it
    *,
    caller: Caller,  # noqa: ARG001 - likewise
    settings: Settings,
) -> Settings:
    """Returns the settings, which say whether private hosts are allowed."""
    return settings


async def create_webhook(new: NewWebhook, write: WriteContext[Settings]) -> Webhook:
    """Send each stored event of some names to an address, as a request signed following Standard Webhooks.

    Events of bots, of imports, and those received two days late are not sent. `POST /webhooks/{webhookId}/secret` shows the secret.
    A workspace has at most 20 webhooks.
    """
    if len(await write.records.list_all(Webhook)) >= MAX_WEBHOOKS:
        raise Unprocessable(
            f"A workspace has at most {MAX_WEBHOOKS} webhooks",
            "too_many_webhooks",
            hint="Delete one, or add the events to the `event_names` of another.",
        )
    return _validated_webhook(Webhook(**write.new_fields(), **dict(new), secret_version=1), write.prepared)


async def update_webhook(webhook: Webhook, patch: WebhookPatch, write: WriteContext[Settings]) -> Webhook:
    """Change the fields sent. What is waiting for an earlier address is not sent any more."""
    sent = {name: value for name, value in sent_fields(patch).items() if value is not None}
    return _validated_webhook(webhook.with_fields(write.caller.now, **sent), write.prepared)


def _validated_webhook(webhook: Webhook, settings: Settings) -> Webhook:
    """Returns the webhook with each event name once.

    Raises:
        Unprocessable: ``invalid_field`` or ``invalid_url``.
    """
    validate_text("webhook.name", webhook.name, MAX_NAME_LENGTH)
    names = tuple(dict.fromkeys(name.strip() for name in webhook.event_names))
    if not 1 <= len(names) <= MAX_EVENT_NAMES:
        raise Unprocessable(
            f"A webhook has 1 to {MAX_EVENT_NAMES} event names", "invalid_field", field="webhook.event_names"
        )
    for position, name in enumerate(names):
        validate_text(f"webhook.event_names[{position}]", name, MAX_EVENT_NAME_LENGTH)
    validate_public_url(
        "url",
        webhook.url,
        frozenset({"https"}),
        parent_field="webhook",
        allow_private_hosts=settings.webhooks.allow_private_addresses,
    )
    return webhook.model_copy(update={"event_names": names})


async def describe_webhook_effect(_: RecordReader, prior: State | None, new: State | None) -> Sequence[State]:
    """Returns which events are sent after the change of a webhook."""
    state = new or prior or {}
    names = ", ".join(state["event_names"])
    is_sent = bool(new and new["active"])
    verb = "are sent" if is_sent else "are not sent"
    summary = f"Events '{names}' {verb} to {state['url']}"
    return ({"type": "webhook", "summary": summary, "operation": "put" if is_sent else "delete"},)


WEBHOOK_TYPE: Final = ResourceType(
    Webhook,
    Scope.WRITE_RULES,
    effects=describe_webhook_effect,
    outside_effects=frozenset({"webhook"}),
    irreversible_fields=frozenset({"secret_version"}),
    check_permitted=refuse_former_webhook_secret,
)

WEBHOOKS: Final = resource(
    WEBHOOK_TYPE,
    "/webhooks/{webhookId}",
    listing=Listing("Webhooks, newest first."),
    get="One webhook.",
    create=create_webhook,
    update=update_webhook,
    delete="Delete a webhook; an undo brings it back under its id.",
    prepare=provide_settings,
    operations=(list_webhook_deliveries, send_test_message, replace_webhook_secret),
)
