"""E-mails owners when 75, 90 and 100 percent of the events of a plan are used."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service_core.access.billing_plans import BILLING_PLANS, UNLIMITED_PLAN
from service_core.access.email_sender import EmailMessage, EmailSender, EmailSenderUnavailable
from service_core.access.members.ports import Accounts, Members
from service_core.access.models import Workspace
from service_core.access.ports import CredentialStore
from service_core.access.roles import Role
from service_core.analytics.ports import AggregateReader
from service_core.analytics.reads.usage import count_billed_events, get_billing_period
from service_core.kernel.time_ranges import TimeRange
from service_core.workspace.usage_alerts.ports import UsageAlertLog

ALERT_PERCENTAGES: Final = (100, 90, 75)


@dataclass(frozen=True, slots=True)
class UsageAlerts:
    """Sends usage alerts to the owners of every workspace whose plan has a limit.

    Attributes:
        workspaces: the workspaces.
        members, accounts: their owners.
        events: counts the events.
        alert_log: the alerts that were sent already.
        email_sender: sends the e-mails.
    """

    workspaces: CredentialStore
    members: Members
    accounts: Accounts
    events: AggregateReader
    alert_log: UsageAlertLog
    email_sender: EmailSender

    async def send_due_alerts(self, now: datetime) -> None:
        """Sends the alert of the highest percentage that each workspace has reached, once per billing period.

        Raises:
            EmailSenderUnavailable: an e-mail could not be sent; the others were, and the next run tries it again.
            StoreUnavailable: events cannot be counted.
        """
        period, refused = get_billing_period(now), None
        for workspace in await self.workspaces.list_workspaces():
            limit = BILLING_PLANS.get(workspace.plan, UNLIMITED_PLAN).events_limit
            if limit is None or not workspace.active:
                continue
            try:
                await self._send_alert_of_highest_reached_percentage_once(workspace, limit, period)
            except EmailSenderUnavailable as fault:
                refused = fault
        if refused is not None:
            raise refused

    async def _send_alert_of_highest_reached_percentage_once(
        self, workspace: Workspace, limit: int, period: TimeRange
    ) -> None:
        used = await count_billed_events(self.events, workspace, period)
        percent = next((step for step in ALERT_PERCENTAGES if used * 100 >= limit * step), None)
        if percent is None or not await self.alert_log.claim_alert(workspace.id, period.start, percent):
            return
        try:
            await self._email_owners(workspace, used, limit, percent, period)
        except EmailSenderUnavailable:
            await self.alert_log.release_alert(workspace.id, period.start, percent)
            raise

    async def _email_owners(
        self, workspace: Workspace, used_events: int, event_limit: int, percent: int, period: TimeRange
    ) -> None:
        name = " ".join(workspace.name.split())
        subject = f"{name} has used {percent} percent of its events"
        text = (
            f"{name} has used {used_events:,} of the {event_limit:,} events its plan covers from "
            f"{period.start:%Y-%m-%d} to {period.end:%Y-%m-%d}.\n\n"
            "Events are taken above the limit, too: nothing is lost or refused.\n"
        )
        for member in await self.members.list_members(workspace.id):
            account = await self.accounts.get_account(member.account_id)
            if member.role is Role.OWNER and account is not None:
                await self.email_sender.send(EmailMessage(account.email, subject, text))
