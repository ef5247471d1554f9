"""Puts due e-mail reports into the outbox, and the e-mails in which new recipients confirm their address."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from service_core.access.models import Workspace
from service_core.access.ports import CredentialStore
from service_core.changes.ports import Transactions
from service_core.kernel.timestamps import format_timestamp
from service_core.workspace.email_reports.models import EmailReport
from service_core.workspace.email_reports.operations import build_email_notification
from service_core.workspace.email_reports.schedule import last_due_at
from service_core.workspace.notifications.models import CONFIRM_OCCURRENCE, Notification
from service_core.workspace.notifications.ports import NotificationOutbox
from service_core.workspace.notifications.recipients import RecipientStatus, RecipientStatuses

MAX_DELAY: Final = timedelta(days=2)
"""How late an e-mail is still sent, after the service was down when it was due."""


@dataclass(frozen=True, slots=True)
class EmailReportScheduler:
    """Puts due e-mails of every workspace into the outbox, each occurrence once per recipient.

    Attributes:
        workspaces: the workspaces.
        transactions: reads the e-mail reports.
        statuses: who gets e-mails.
        outbox: keeps what is to be sent; two processes that add the same e-mail add it once.
    """

    workspaces: CredentialStore
    transactions: Transactions
    statuses: RecipientStatuses
    outbox: NotificationOutbox

    async def queue_due_emails(self, now: datetime) -> int:
        """Returns how many e-mails were put into the outbox.

        Raises:
            StoreUnavailable: something cannot be read or kept here; the next run continues.
        """
        added = 0
        for workspace in await self.workspaces.list_workspaces():
            if workspace.active:
                added += await self._queue_due_emails_of_workspace(workspace, now)
        return added

    async def _queue_due_emails_of_workspace(self, workspace: Workspace, now: datetime) -> int:
        async with self.transactions.read(workspace.id) as transaction:
            email_reports = await transaction.resources.list_all(EmailReport)
        added = 0
        for email_report in email_reports:
            if email_report.active:
                statuses = await self.statuses.get_statuses(
                    workspace.id, email_report.id, email_report.recipients
                )
                wanted = list(_wanted_notifications(email_report, workspace, statuses, now))
                added += await self.outbox.add_notifications_if_absent(wanted) if wanted else 0
        return added


def _wanted_notifications(
    email_report: EmailReport, workspace: Workspace, statuses: Mapping[str, RecipientStatus], now: datetime
) -> Iterator[Notification]:
    """Yields the e-mails of the latest occurrence, and the confirmations of new recipients; added ones included."""
    for email, status in statuses.items():
        if status is RecipientStatus.UNCONFIRMED:
            yield build_email_notification(
                email_report, email, CONFIRM_OCCURRENCE, email_report.created_at, now
            )
    due_at = last_due_at(email_report, now, workspace.zone)
    if email_report.updated_at <= due_at and now - due_at <= MAX_DELAY:
        for email, status in statuses.items():
            if status.is_sendable:
                yield build_email_notification(email_report, email, format_timestamp(due_at), due_at, now)
