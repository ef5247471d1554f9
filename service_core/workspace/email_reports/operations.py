"""What became of scheduled e-mails, and test e-mails."""

from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangeExecutor, is_dry_run
from service_core.changes.record_plans import get_or_404
from service_core.kernel.errors import Unprocessable
from service_core.kernel.ids import new_id
from service_core.kernel.operations import RateLimitClass, Reversibility, Scope, operation
from service_core.kernel.row_selection import RowSelection
from service_core.workspace.email_reports.models import EmailReport
from service_core.workspace.email_reports.schemas import (
    EmailReportPath,
    NotificationDeliveries,
    RecipientAnswer,
    SentNotification,
    TestEmailAnswer,
    TestEmailBody,
)
from service_core.workspace.notifications.models import Channel, Notification
from service_core.workspace.notifications.ports import NotificationOutbox
from service_core.workspace.notifications.recipients import (
    RecipientStatus,
    RecipientStatuses,
    normalize_recipients,
)

MAX_DELIVERIES: Final = 50
TEST_OCCURRENCE: Final = "test:"
"""Beginning of the occurrence of a test e-mail."""


@operation("GET /email-reports/{emailReportId}/deliveries", tag="email-reports")
async def list_email_report_deliveries(
    path: EmailReportPath,
    query: RowSelection,  # noqa: ARG001 - the rows are selected from the answer
    *,
    caller: Caller,
    changes: ChangeExecutor,
    outbox: NotificationOutbox,
    statuses: RecipientStatuses,
) -> NotificationDeliveries:
    """The recipients of a scheduled e-mail, and the latest e-mails with their results."""
    email_report = await _load_email_report(path.emailReportId, caller, changes)
    found = await statuses.get_statuses(caller.workspace.id, email_report.id, email_report.recipients)
    sent = await outbox.list_notifications_of_source(caller.workspace.id, email_report.id, MAX_DELIVERIES)
    return NotificationDeliveries(
        recipients=[RecipientAnswer(email=email, status=status) for email, status in found.items()],
        deliveries=[SentNotification.from_notification(one) for one in sent],
    )


@operation(
    "POST /email-reports/{emailReportId}/test",
    tag="email-reports",
    scope=Scope.WRITE_REPORTS,
    rate_limit=RateLimitClass.MUTATION,
    idempotent=True,
    reversibility=Reversibility.IRREVERSIBLE,
)
async def send_test_email(
    path: EmailReportPath,
    body: TestEmailBody,
    *,
    caller: Caller,
    changes: ChangeExecutor,
    outbox: NotificationOutbox,
    statuses: RecipientStatuses,
) -> TestEmailAnswer:
    """Send the e-mail as it is now to a member of the workspace, within a minute."""
    email_report = await _load_email_report(path.emailReportId, caller, changes)
    (email,) = normalize_recipients([body.to], "to")
    found = await statuses.get_statuses(caller.workspace.id, email_report.id, [email])
    if found[email] is RecipientStatus.UNSUBSCRIBED:
        raise Unprocessable(f"{email} unsubscribed from this e-mail", "invalid_field", field="to")
    if found[email] is not RecipientStatus.MEMBER:
        raise Unprocessable(
            "A test e-mail is sent to a member of the workspace only", "invalid_field", field="to"
        )
    if is_dry_run(caller, body.dry_run):
        return TestEmailAnswer(dry_run=True, to=email, status=None)
    repeat_key = caller.idempotency.key[:200] if caller.idempotency else str(new_id())
    notification = build_email_notification(
        email_report, email, f"{TEST_OCCURRENCE}{repeat_key}", caller.now, caller.now
    )
    await outbox.add_notifications_if_absent([notification])
    return TestEmailAnswer(dry_run=False, to=email, status=notification.status)


def build_email_notification(
    email_report: EmailReport, email: str, occurrence: str, due_at: datetime, now: datetime
) -> Notification:
    """Returns the notification of one e-mail to one recipient; its text is built when it is sent."""
    return Notification(
        workspace_id=email_report.workspace_id,
        source_type=EmailReport.resource_type,
        source_id=email_report.id,
        occurrence=occurrence,
        channel=Channel.EMAIL,
        target=email,
        subject=email_report.name,
        due_at=due_at,
        created_at=now,
        next_attempt_at=now,
    )


async def _load_email_report(id_: UUID, caller: Caller, changes: ChangeExecutor) -> EmailReport:
    async with changes.transactions.read(caller.workspace.id) as transaction:
        return await get_or_404(transaction.resources, EmailReport, id_)
