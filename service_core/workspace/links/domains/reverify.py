"""Checks the DNS records of verified link domains again, and notifies members of missing ones."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from service_core.access.email_sender import EmailSender, EmailSenderUnavailable
from service_core.access.internal_callers import build_unlimited_read_only_caller
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
    """Checks the DNS record of every verified link domain.

    A query that no name server answered changes nothing.

    Attributes:
        workspaces: the workspaces.
        members, accounts: the members to notify.
        changes: executes the changes of claims.
        txt_records: queries the DNS.
        email_sender: sends the notices.
    """

    workspaces: CredentialStore
    members: Members
    accounts: Accounts
    changes: ChangeExecutor
    txt_records: TxtRecords
    email_sender: EmailSender

    async def recheck_and_notify_all(self, now: datetime) -> None:
        """Stores which records are missing or back, and notifies owners and admins of missing ones.

        Raises:
            EmailSenderUnavailable: an e-mail could not be sent; the others were, and the next check tries it again.
        """
        failure = None
        for workspace in await self.workspaces.list_workspaces():
            try:
                await self._recheck_and_notify_workspace(workspace, now)
            except EmailSenderUnavailable as fault:
                failure = fault
        if failure is not None:
            raise failure

    async def _recheck_and_notify_workspace(self, workspace: Workspace, now: datetime) -> None:
        async with self.changes.transactions.read(workspace.id) as transaction:
            claims = await transaction.resources.list_all(LinkDomainClaim)
        if not claims:
            return
        recipients = await self._load_email_by_manager_account(workspace)
        caller = replace(build_unlimited_read_only_caller(workspace, now, "DNS check"), is_system=True)
        verified = [claim for claim in claims if claim.is_verified]
        answers = await gather_or_cancel(*map(self._has_txt_record, verified))
        for claim, is_present in zip(verified, answers, strict=True):
            if is_present is None or (is_present and claim.is_record_present):
                continue
            with suppress(NotFound):  # removed meanwhile
                await self.changes.preview_or_apply_change(
                    caller,
                    _plan_recheck_result_unless_changed(
                        caller, claim, is_present, recipients=tuple(recipients)
                    ),
                    dry_run=False,
                )
        await send_pending_notices(workspace, recipients, self.changes.transactions, self.email_sender, now)

    async def _load_email_by_manager_account(self, workspace: Workspace) -> dict[UUID, str]:
        """Returns account id -> e-mail address of the members who can manage the workspace."""
        members = await self.members.list_members(workspace.id)
        accounts = [
            await self.accounts.get_account(member.account_id)
            for member in members
            if Permission.MANAGE in ROLE_PERMISSIONS[member.role]
        ]
        return {account.id: account.email for account in accounts if account is not None}

    async def _has_txt_record(self, claim: LinkDomainClaim) -> bool | None:
        try:
            return claim.verification_value in await self.txt_records.query_txt(claim.txt_record_name)
        except DnsUnavailable:
            return None


def _plan_recheck_result_unless_changed(
    caller: Caller, claim: LinkDomainClaim, is_present: bool, *, recipients: tuple[UUID, ...]
) -> ChangePlanner:
    """Returns the plan that stores the result of a check, unless the claim was changed meanwhile."""

    async def store_result_unless_changed(transaction: Transaction) -> Change:
        current = await get_or_404(transaction.resources, LinkDomainClaim, claim.id)
        if current != claim:
            return Change(Action.UPDATE, current, current)
        if is_present:
            return Change(Action.UPDATE, current, current.mark_verified(caller.now))
        in_use = bool(await find_links_on_domain(transaction.resources, current))
        missing = current.mark_missing_lapsed_or_pending_again(
            caller.now, in_use=in_use, recipients=recipients
        )
        return Change(Action.UPDATE, current, missing)

    return store_result_unless_changed
