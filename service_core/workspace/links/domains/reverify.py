"""Looking again, now and then, whether the DNS still says whose a link domain is, and telling when it does not."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from service_core.access.email_sender import EmailSender, EmailSenderUnavailable
from service_core.access.internal_callers import read_only_caller
from service_core.access.members.ports import Accounts, Members
from service_core.access.models import Caller, Workspace
from service_core.access.ports import CredentialStore
from service_core.access.roles import ROLE_PERMISSIONS, Permission
from service_core.changes.change_executor import ChangeExecutor, ChangePlanner
from service_core.changes.models import Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.errors import NotFound
from service_core.workspace.links.domains.link_hosts import find_links_on_domain
from service_core.workspace.links.domains.models import LinkDomainClaim
from service_core.workspace.links.domains.notify_members import send_pending_notices
from service_core.workspace.links.domains.ports import DnsUnavailable, TxtRecords


@dataclass(frozen=True, slots=True)
class DomainReverification:
    """Looks for the proof of every verified domain.

    What no name server answered is not known, and changes nothing.

    Attributes:
        directory: the workspaces.
        members, accounts: who cares for their domains.
        writes: how the claims are written.
        records: the DNS.
        mail: how people are told.
    """

    directory: CredentialStore
    members: Members
    accounts: Accounts
    writes: ChangeExecutor
    records: TxtRecords
    mail: EmailSender

    async def recheck_all(self, now: datetime) -> None:
        """Write down which proofs are gone or back, and tell owners and admins of those that are gone.

        Raises:
            EmailSenderUnavailable: a mail was not taken; the others were sent, and the next look tries it again.
        """
        refused = None
        for workspace in await self.directory.list_workspaces():
            try:
                await self._recheck_workspace(workspace, now)
            except EmailSenderUnavailable as fault:
                refused = fault
        if refused is not None:
            raise refused

    async def _recheck_workspace(self, workspace: Workspace, now: datetime) -> None:
        async with self.writes.transactions.read(workspace.id) as unit:
            claims = await unit.resources.list_all(LinkDomainClaim)
        if not claims:
            return
        people = await self._load_recipients(workspace)
        who = replace(read_only_caller(workspace, now, "Look at the DNS"), is_system=True)
        verified = [claim for claim in claims if claim.is_verified]
        answers = await gather_or_cancel(*map(self._has_txt_record, verified))
        for claim, there in zip(verified, answers, strict=True):
            if there is None or (there and claim.is_record_present):
                continue
            with suppress(NotFound):  # removed meanwhile
                await self.writes.execute(
                    who, _plan_recheck_result(who, claim, there, to_tell=tuple(people)), dry_run=False
                )
        await send_pending_notices(workspace, people, self.writes.transactions, self.mail, now)

    async def _load_recipients(self, workspace: Workspace) -> dict[UUID, str]:
        """Account -> address of everybody who cares for the domains of a workspace."""
        members = await self.members.list_members(workspace.id)
        found = [
            await self.accounts.get_account(member.account_id)
            for member in members
            if Permission.MANAGE in ROLE_PERMISSIONS[member.role]
        ]
        return {account.id: account.email for account in found if account is not None}

    async def _has_txt_record(self, claim: LinkDomainClaim) -> bool | None:
        try:
            return claim.verification_value in await self.records.query_txt(claim.txt_record_name)
        except DnsUnavailable:
            return None


def _plan_recheck_result(
    caller: Caller, claim: LinkDomainClaim, there: bool, *, to_tell: tuple[UUID, ...]
) -> ChangePlanner:
    """The plan of what a look has found; of a claim that was changed meanwhile it knows nothing."""

    async def plan(unit: Transaction) -> Change:
        found = await get_or_404(unit.resources, LinkDomainClaim, claim.id)
        if found != claim:
            return Change(Action.UPDATE, found, found)
        if there:
            return Change(Action.UPDATE, found, found.mark_verified(caller.now))
        in_use = bool(await find_links_on_domain(unit.resources, found))
        return Change(
            Action.UPDATE, found, found.mark_record_missing(caller.now, in_use=in_use, to_tell=to_tell)
        )

    return plan
