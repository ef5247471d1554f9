"""The signing secret of webhooks, and what was sent."""

from typing import Final

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.models import Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404
from service_core.changes.resource import State
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Reversibility, Scope, operation
from service_core.kernel.row_selection import RowSelection
from service_core.workspace.alerts.models import Alert, alert_webhook_secret
from service_core.workspace.alerts.schemas import AlertPath, RotateSecretBody
from service_core.workspace.email_reports.schemas import (
    NotificationDeliveries,
    RecipientAnswer,
    SentNotification,
)
from service_core.workspace.notifications.ports import NotificationOutbox
from service_core.workspace.notifications.recipients import RecipientStatuses
from service_core.workspace.notifications.webhook_secrets import refuse_former_secret

MAX_DELIVERIES: Final = 50


@operation("GET /alerts/{alertId}/deliveries", tag="alerts")
async def list_alert_deliveries(
    path: AlertPath,
    query: RowSelection,  # noqa: ARG001 - the rows are selected from the answer
    *,
    caller: Caller,
    changes: ChangeExecutor,
    outbox: NotificationOutbox,
    statuses: RecipientStatuses,
) -> NotificationDeliveries:
    """The recipients of an alert, and the latest e-mails and webhooks with their results."""
    async with changes.transactions.read(caller.workspace.id) as transaction:
        alert = await get_or_404(transaction.resources, Alert, path.alertId)
    found = await statuses.get_statuses(caller.workspace.id, alert.id, alert.recipients)
    sent = await outbox.list_notifications_of_source(caller.workspace.id, alert.id, MAX_DELIVERIES)
    return NotificationDeliveries(
        recipients=[RecipientAnswer(email=email, status=status) for email, status in found.items()],
        deliveries=[SentNotification.from_notification(one) for one in sent],
    )


def refuse_former_alert_secret(caller: Caller, prior: State | None, new: State | None) -> None:  # noqa: ARG001 - as `ResourceType.check_permitted`
    """Refuses an undo that would bring back a replaced signing secret.

    Raises:
        Conflict: ``not_undoable``.
    """
    refuse_former_secret(prior, new, "webhook_version")


@operation(
    "POST /alerts/{alertId}/webhook-secret",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="alerts",
    errors=(409,),
    body_optional=True,
    reversibility=Reversibility.IRREVERSIBLE,
)
async def rotate_webhook_secret(
    path: AlertPath, body: RotateSecretBody, *, caller: Caller, changes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Replace the secret that signs the webhooks of an alert.

    `data.webhook_secret` is shown in this answer only. `Idempotency-Key` is ignored.
    """
    rotated: list[Alert] = []

    async def increment_version(transaction: Transaction) -> Change:
        alert = await get_or_404(transaction.resources, Alert, path.alertId)
        changed = alert.with_fields(caller.now, webhook_version=alert.webhook_version + 1)
        rotated[:] = [changed]
        return Change(Action.UPDATE, alert, changed)

    response = await changes.preview_or_apply_change(caller, increment_version, dry_run=body.dry_run)
    envelope = response.body
    secret = alert_webhook_secret(caller.workspace, rotated[0]) if envelope.applied and rotated else None
    data = {**(envelope.data or {}), "webhook_secret": secret}
    return HandlerResponse(envelope.model_copy(update={"data": data}), response.status, response.headers)
