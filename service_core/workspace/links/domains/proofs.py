"""Looking again, now and then, whether the DNS still says whose a link domain is, and telling when it does not."""

from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from service_core.access.mail import Mail, MailDown
from service_core.access.members.ports import Accounts, Members
from service_core.access.model import Caller, Workspace
from service_core.access.ports import Directory
from service_core.access.reader import reader_of
from service_core.access.roles import ABILITIES, Ability
from service_core.changes.model import Action, Change
from service_core.changes.plan import live
from service_core.changes.ports import Transaction
from service_core.changes.write import Plan, Writes
from service_core.kernel.errors import NotFound
from service_core.kernel.together import together
from service_core.workspace.links.domains.model import DomainClaim
from service_core.workspace.links.domains.ports import RecordsDown, TextRecords
from service_core.workspace.links.domains.resource import links_on
from service_core.workspace.links.domains.telling import tell


@dataclass(frozen=True, slots=True)
class Proofs:
    """Looks for the proof of every verified domain.

    What no name server answered is not known, and changes nothing.

    Attributes:
        directory: the workspaces.
        members, accounts: who cares for their domains.
        writes: how the claims are written.
        records: the DNS.
        mail: how people are told.
    """

    directory: Directory
    members: Members
    accounts: Accounts
    writes: Writes
    records: TextRecords
    mail: Mail

    async def look(self, now: datetime) -> None:
        """Write down which proofs are gone or back, and tell owners and admins of those that are gone.

        Raises:
            MailDown: a mail was not taken; the others were sent, and the next look tries it again.
        """
        refused = None
        for workspace in await self.directory.workspaces():
            try:
                await self._look_at(workspace, now)
            except MailDown as fault:
                refused = fault
        if refused is not None:
            raise refused

    async def _look_at(self, workspace: Workspace, now: datetime) -> None:
        async with self.writes.units.look(workspace.id) as unit:
            claims = await unit.resources.every(DomainClaim)
        if not claims:
            return
        people = await self._people(workspace)
        who = replace(reader_of(workspace, now, "Look at the DNS"), is_system=True)
        verified = [claim for claim in claims if claim.is_verified]
        answers = await together(*map(self._is_there, verified))
        for claim, there in zip(verified, answers, strict=True):
            if there is None or (there and claim.is_proved):
                continue
            with suppress(NotFound):  # removed meanwhile
                await self.writes.run(who, _seen(who, claim, there, to_tell=tuple(people)), dry_run=False)
        await tell(workspace, people, self.writes.units, self.mail, now)

    async def _people(self, workspace: Workspace) -> dict[UUID, str]:
        """Account -> address of everybody who cares for the domains of a workspace."""
        members = await self.members.members(workspace.id)
        found = [
            await self.accounts.account(member.account_id)
            for member in members
            if Ability.MANAGE in ABILITIES[member.role]
        ]
        return {account.id: account.email for account in found if account is not None}

    async def _is_there(self, claim: DomainClaim) -> bool | None:
        try:
            return claim.proof in await self.records.texts(claim.record)
        except RecordsDown:
            return None


def _seen(who: Caller, claim: DomainClaim, there: bool, *, to_tell: tuple[UUID, ...]) -> Plan:
    """The plan of what a look has found; of a claim that was changed meanwhile it knows nothing."""

    async def plan(unit: Transaction) -> Change:
        found = await live(unit.resources, DomainClaim, claim.id)
        if found != claim:
            return Change(Action.UPDATE, found, found)
        if there:
            return Change(Action.UPDATE, found, found.proved(who.now))
        in_use = bool(await links_on(unit.resources, found))
        return Change(Action.UPDATE, found, found.unproved(who.now, in_use=in_use, to_tell=to_tell))

    return plan
