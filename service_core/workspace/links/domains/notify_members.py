"""Telling people how it stands with a link domain: each once, and again after a mail that was not taken."""

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
    recipients: Mapping[UUID, str],
    units: Transactions,
    mail: EmailSender,
    now: datetime,
) -> None:
    """Write to everybody who has still to be told of a domain of the workspace.

    Whoever is written to is crossed off before the mail leaves, so of several looks one writes; and
    noted again when it was not taken. What could not be told within `GRACE` is not told any more.

    Args:
        workspace: whose domains.
        people: account -> address of those who care for them; nobody else is told any more.
        units: where the claims are kept.
        mail: how they are told.
        now: when this is.

    Raises:
        EmailSenderUnavailable: a mail was not taken; the others were sent, and the next time it is tried again.
    """
    async with units.read(workspace.id) as unit:
        claims = await unit.resources.list_all(LinkDomainClaim)
    refused = None
    for claim in claims:
        for account_id in claim.to_tell if now - claim.updated_at < MISSING_RECORD_GRACE else ():
            if (
                not await _mark_notified(units, claim, account_id, is_told=True)
                or account_id not in recipients
            ):
                continue
            try:
                await mail.send(EmailMessage(recipients[account_id], *missing_record_email(workspace, claim)))
            except EmailSenderUnavailable as fault:
                refused = fault
                await _mark_notified(units, claim, account_id, is_told=False)
    if refused is not None:
        raise refused


async def _mark_notified(
    units: Transactions, claim: LinkDomainClaim, account_id: UUID, *, is_told: bool
) -> bool:
    """Note who is told; False when that stands there already, or the claim stands otherwise by now.

    It says nothing of the domain itself, so it is no change that the audit tells of.
    """
    async with units.write(claim.workspace_id) as unit:
        found = await unit.resources.get(LinkDomainClaim, claim.id)
        if (
            found is None
            or found.notice_state != claim.notice_state
            or (account_id in found.to_tell) is not is_told
        ):
            return False
        rest = tuple(one for one in found.to_tell if one != account_id)
        to_tell = rest if is_told else (*rest, account_id)
        await unit.resources.save(found.model_copy(update={"to_tell": to_tell}))
    return True
