"""Sends e-mails about missing DNS records, once per recipient and state."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from service_core.access.email_sender import EmailMessage, EmailSender, EmailSenderUnavailable
from service_core.access.models import Workspace
from service_core.changes.ports import Transactions
from service_core.workspace.links.domains.emails import missing_record_email
from service_core.workspace.links.domains.models import MISSING_RECORD_GRACE, LinkDomainClaim


async def send_pending_notices(
    workspace: Workspace,
    email_by_account: Mapping[UUID, str],
    transactions: Transactions,
    email_sender: EmailSender,
    now: datetime,
) -> None:
    """Sends the pending notices of the link domains of a workspace.

    A recipient is removed before the e-mail is sent, so that of several concurrent runs one sends it, and added again
    when sending failed. Notices that could not be sent within `MISSING_RECORD_GRACE` are dropped.

    Args:
        workspace: the workspace of the domains.
        email_by_account: account id -> e-mail address of the members who manage domains; others are not notified.
        transactions: transactions of the workspace store.
        email_sender: sends the e-mails.
        now: the current time.

    Raises:
        EmailSenderUnavailable: an e-mail could not be sent; the others were, and the next run tries it again.
    """
    async with transactions.read(workspace.id) as transaction:
        claims = await transaction.resources.list_all(LinkDomainClaim)
    failure = None
    for claim in claims:
        for account_id in claim.pending_recipients if now - claim.updated_at < MISSING_RECORD_GRACE else ():
            is_first = await _remove_or_restore_recipient(transactions, claim, account_id, notified=True)
            if not is_first or account_id not in email_by_account:
                continue
            try:
                await email_sender.send(
                    EmailMessage(email_by_account[account_id], *missing_record_email(workspace, claim))
                )
            except EmailSenderUnavailable as fault:
                failure = fault
                await _remove_or_restore_recipient(transactions, claim, account_id, notified=False)
    if failure is not None:
        raise failure


async def _remove_or_restore_recipient(
    transactions: Transactions, claim: LinkDomainClaim, account_id: UUID, *, notified: bool
) -> bool:
    """Removes or adds a pending recipient; returns False when that was done before or the state has changed.

    The domain itself does not change, so there is no audit entry.
    """
    async with transactions.write(claim.workspace_id) as transaction:
        current = await transaction.resources.get(LinkDomainClaim, claim.id)
        if current is None or current.notice_state != claim.notice_state:
            return False
        pending = current.pending_recipients
        if (account_id in pending) is not notified:
            return False
        others = tuple(recipient for recipient in pending if recipient != account_id)
        changed = others if notified else (*others, account_id)
        await transaction.resources.save(current.model_copy(update={"pending_recipients": changed}))
    return True
