"""Telling people how it stands with a link domain: each once, and again after a mail that was not taken."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from service_core.access.mail import Mail, MailDown, Message
from service_core.access.model import Workspace
from service_core.changes.ports import Units
from service_core.workspace.links.domains.letters import letter
from service_core.workspace.links.domains.model import GRACE, DomainClaim


async def tell(
    workspace: Workspace, people: Mapping[UUID, str], units: Units, mail: Mail, now: datetime
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
        MailDown: a mail was not taken; the others were sent, and the next time it is tried again.
    """
    async with units.look(workspace.id) as unit:
        claims = await unit.resources.every(DomainClaim)
    refused = None
    for claim in claims:
        for account_id in claim.to_tell if now - claim.updated_at < GRACE else ():
            if not await _note(units, claim, account_id, is_told=True) or account_id not in people:
                continue
            try:
                await mail.send(Message(people[account_id], *letter(workspace, claim)))
            except MailDown as fault:
                refused = fault
                await _note(units, claim, account_id, is_told=False)
    if refused is not None:
        raise refused


async def _note(units: Units, claim: DomainClaim, account_id: UUID, *, is_told: bool) -> bool:
    """Note who is told; False when that stands there already, or the claim stands otherwise by now.

    It says nothing of the domain itself, so it is no change that the audit tells of.
    """
    async with units.begin(claim.workspace_id) as unit:
        found = await unit.resources.get(DomainClaim, claim.id)
        if found is None or found.standing != claim.standing or (account_id in found.to_tell) is not is_told:
            return False
        rest = tuple(one for one in found.to_tell if one != account_id)
        to_tell = rest if is_told else (*rest, account_id)
        await unit.resources.save(found.model_copy(update={"to_tell": to_tell}))
    return True
