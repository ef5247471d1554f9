"""Sends e-mails about writes that wait for the approval of a person."""

from dataclasses import dataclass

from service_core.access.email_sender import EmailMessage, EmailSender, EmailSenderUnavailable
from service_core.access.models import Workspace
from service_core.changes.ports import Transactions
from service_core.delivery.notifications.delivery_worker import NotificationObsolete, NotificationRefused
from service_core.kernel.clock import Clock
from service_core.workspace.approvals.models import ApprovalStatus, WriteApproval
from service_core.workspace.notifications.models import Notification


@dataclass(frozen=True, slots=True)
class ApprovalEmailSender:
    """Sends the notifications of approvals.

    Attributes:
        transactions: reads approvals.
        email_sender: sends e-mails.
        clock: returns the current time.
    """

    transactions: Transactions
    email_sender: EmailSender
    clock: Clock

    async def send(self, workspace: Workspace, notification: Notification) -> None:
        """Sends an e-mail with the link to a write that waits.

        Raises:
            NotificationObsolete: the write was decided, or has expired.
            NotificationRefused: the mail server did not take it.
        """
        async with self.transactions.read(workspace.id) as transaction:
            approval = await transaction.resources.get(WriteApproval, notification.source_id)
        if approval is None or approval.status_at(self.clock()) is not ApprovalStatus.PENDING:
            raise NotificationObsolete("The change was decided, or has expired")
        text = notification.payload or ""
        message = EmailMessage(notification.target, notification.subject, text, id=str(notification.id))
        try:
            await self.email_sender.send(message)
        except EmailSenderUnavailable as fault:
            raise NotificationRefused(f"The mail server did not take it: {fault}") from None
