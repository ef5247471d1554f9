"""Telling owners when 75, 90 and 100 percent of the events of a plan are used."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service_core.access.mail import Mail, MailDown, Message
from service_core.access.members.ports import Accounts, Members
from service_core.access.model import Workspace
from service_core.access.plans import PLANS, UNLIMITED
from service_core.access.ports import Directory
from service_core.access.roles import Role
from service_core.insight.ports import Aggregates
from service_core.insight.usage import events_used, period_of
from service_core.kernel.ranges import Span
from service_core.workspace.limits.ports import UsageNotices

PERCENTS: Final = (100, 90, 75)


@dataclass(frozen=True, slots=True)
class Watch:
    """Looks at the usage of every workspace that has a limit.

    Attributes:
        directory: the workspaces.
        members, accounts: their owners.
        events: what is counted.
        notices: what owners were told already.
        mail: how they are told.
    """

    directory: Directory
    members: Members
    accounts: Accounts
    events: Aggregates
    notices: UsageNotices
    mail: Mail

    async def look(self, now: datetime) -> None:
        """Tell the owners of each workspace of the highest step it has reached, once per period.

        Raises:
            MailDown: a mail was not taken; the others were sent, and the next look tries it again.
            StoreUnavailable: events cannot be counted.
        """
        period, refused = period_of(now), None
        for workspace in await self.directory.workspaces():
            limit = PLANS.get(workspace.plan, UNLIMITED).events_limit
            if limit is None or not workspace.active:
                continue
            try:
                await self._look_at(workspace, limit, period)
            except MailDown as fault:
                refused = fault
        if refused is not None:
            raise refused

    async def _look_at(self, workspace: Workspace, limit: int, period: Span) -> None:
        used = await events_used(self.events, workspace, period)
        percent = next((step for step in PERCENTS if used * 100 >= limit * step), None)
        if percent is None or not await self.notices.claim_notice(workspace.id, period.start, percent):
            return
        try:
            await self._tell(workspace, used, limit, percent, period)
        except MailDown:
            await self.notices.release_notice(workspace.id, period.start, percent)
            raise

    async def _tell(self, workspace: Workspace, used: int, limit: int, percent: int, period: Span) -> None:
        name = " ".join(workspace.name.split())
        subject = f"{name} has used {percent} percent of its events"
        text = (
            f"{name} has used {used:,} of the {limit:,} events its plan covers from "
            f"{period.start:%Y-%m-%d} to {period.end:%Y-%m-%d}.\n\n"
            "Events are taken above the limit, too: nothing is lost or refused.\n"
        )
        for member in await self.members.members(workspace.id):
            account = await self.accounts.account(member.account_id)
            if member.role is Role.OWNER and account is not None:
                await self.mail.send(Message(account.email, subject, text))
