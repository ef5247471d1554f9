"""The signing secret of webhooks, test messages, and what was sent."""

from typing import Final

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangeExecutor, is_dry_run
from service_core.changes.envelope import Envelope
from service_core.changes.models import Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404
from service_core.changes.resource import State
from service_core.kernel.ids import new_id
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Reversibility, Scope, operation
from service_core.kernel.row_selection import RowSelection
from service_core.workspace.email_reports.schemas import SentNotification
from service_core.workspace.notifications.ports import NotificationOutbox
from service_core.workspace.notifications.webhook_secrets import refuse_former_secret
from service_core.workspace.webhooks.models import Webhook, build_test_entry, webhook_secret
from service_core.workspace.webhooks.schemas import (
    RotateWebhookSecretBody,
    TestMessageAnswer,
    TestMessageBody,
    WebhookDeliveries,
    WebhookPath,
)

MAX_DELIVERIES: Final = 50


@operation("GET /webhooks/{webhookId}/deliveries", tag="webhooks")
async def list_webhook_deliveries(
    path: WebhookPath,
    query: RowSelection,  # noqa: ARG001 - the rows are selected from the answer
    *,
    caller: Caller,
    changes: ChangeExecutor,
    outbox: NotificationOutbox,
) -> WebhookDeliveries:
    """The latest events that were sent to a webhook, with their results."""
    async with changes.transactions.read(caller.workspace.id) as transaction:
        webhook = await get_or_404(transaction.resources, Webhook, path.webhookId)
    sent = await outbox.list_notifications_of_source(caller.workspace.id, webhook.id, MAX_DELIVERIES)
    return WebhookDeliveries(deliveries=[SentNotification.from_notification(one) for one in sent])


@operation(
    "POST /webhooks/{webhookId}/test",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    tag="webhooks",
    idempotent=True,
    body_optional=True,
    reversibility=Reversibility.IRREVERSIBLE,
)
async def send_test_message(
    path: WebhookPath,
    body: TestMessageBody,
    *,
    caller: Caller,
    changes: ChangeExecutor,
    outbox: NotificationOutbox,
) -> TestMessageAnswer:
    """Send a signed message without an event to a webhook, also to a paused one, within some seconds.

    Its `type` is `webhook.test`. The result is in `GET /webhooks/{webhookId}/deliveries`.
    """
    async with changes.transactions.read(caller.workspace.id) as transaction:
        webhook = await get_or_404(transaction.resources, Webhook, path.webhookId)
    if is_dry_run(caller, body.dry_run):
        return TestMessageAnswer(dry_run=True, url=webhook.url, status=None)
    repeat_key = caller.idempotency.key[:200] if caller.idempotency else str(new_id())
    entry = build_test_entry(webhook, repeat_key, caller.now)
    await outbox.add_notifications_if_absent([entry])
    return TestMessageAnswer(dry_run=False, url=webhook.url, status=entry.status)


def refuse_former_webhook_secret(caller: Caller, prior: State | None, new: State | None) -> None:  # noqa: ARG001 - as `ResourceType.check_permitted`
    """Refuses an undo that would bring back a replaced signing secret.

    Raises:
        Conflict: ``not_undoable``.
    """
    refuse_former_secret(prior, new, "secret_version")


@operation(
    "POST /webhooks/{webhookId}/secret",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    tag="webhooks",
    errors=(409,),
    body_optional=True,
    reversibility=Reversibility.IRREVERSIBLE,
)
async def replace_webhook_secret(
    path: WebhookPath, body: RotateWebhookSecretBody, *, caller: Caller, changes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Replace the secret that signs the requests of a webhook.

    `data.secret` is shown in this answer only. `Idempotency-Key` is ignored.
    """
    rotated: list[Webhook] = []

    async def increment_version(transaction: Transaction) -> Change:
        webhook = await get_or_404(transaction.resources, Webhook, path.webhookId)
        changed = webhook.with_fields(caller.now, secret_version=webhook.secret_version + 1)
        rotated[:] = [changed]
        return Change(Action.UPDATE, webhook, changed)

    response = await changes.preview_or_apply_change(caller, increment_version, dry_run=body.dry_run)
    envelope = response.body
    secret = webhook_secret(caller.workspace, rotated[0]) if envelope.applied and rotated else None
    data = {**(envelope.data or {}), "secret": secret}
    return HandlerResponse(envelope.model_copy(update={"data": data}), response.status, response.headers)
