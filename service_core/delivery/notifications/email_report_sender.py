"""Runs the report or dashboard of an e-mail and sends it to one recipient."""

from dataclasses import dataclass
from typing import Protocol

from service_core.access.email_sender import EmailMessage, EmailSender, EmailSenderUnavailable
from service_core.access.internal_callers import build_unlimited_read_only_caller
from service_core.access.models import Workspace
from service_core.access.public_urls import PublicUrls
from service_core.changes.ports import Transactions
from service_core.delivery.notifications.delivery_worker import NotificationObsolete, NotificationRefused
from service_core.kernel.errors import ApiError
from service_core.workspace.dashboards.card_reports import load_card_reports
from service_core.workspace.dashboards.models import Dashboard
from service_core.workspace.dashboards.run_dashboard import DashboardRun, run_dashboard
from service_core.workspace.dashboards.schemas import RunOverrides
from service_core.workspace.email_reports.models import EmailReport
from service_core.workspace.email_reports.operations import TEST_OCCURRENCE
from service_core.workspace.notifications.models import CONFIRM_OCCURRENCE, Notification
from service_core.workspace.notifications.recipients import RecipientStatuses
from service_core.workspace.notifications.signed_links import EmailLink, build_signed_url
from service_core.workspace.reports.models import Report, ReportsById
from service_core.workspace.reports.run_batch import ReportBatchRunner
from service_core.workspace.reports.schemas import ReportRun, RunReport


@dataclass(frozen=True, slots=True)
class EmailedRun:
    """The result that an e-mail shows.

    Attributes:
        record: the report or dashboard.
        reports: the reports of its cards by id.
        page_url: of the report or dashboard in the web application.
        unsubscribe_url: of the recipient; None for a test.
    """

    email_report: EmailReport
    workspace: Workspace
    record: Report | Dashboard
    run: ReportRun | DashboardRun
    reports: ReportsById
    page_url: str
    unsubscribe_url: str | None


class EmailReportRenderer(Protocol):
    """Draws the result of a report or dashboard as an e-mail."""

    def render_email(self, emailed: EmailedRun) -> tuple[str, str]:
        """Returns the e-mail as plain text and as HTML."""


@dataclass(frozen=True, slots=True)
class EmailReportSender:
    """Sends the notifications of e-mail reports.

    Attributes:
        transactions: reads e-mail reports and what they send.
        runner: runs reports.
        statuses: who gets e-mails.
        urls: addresses of the web application.
        renderer: draws the e-mail.
        email_sender: sends it.
    """

    transactions: Transactions
    runner: ReportBatchRunner
    statuses: RecipientStatuses
    urls: PublicUrls
    renderer: EmailReportRenderer
    email_sender: EmailSender

    async def send(self, workspace: Workspace, notification: Notification) -> None:
        """Sends an e-mail report or the request to confirm its recipient.

        Raises:
            NotificationObsolete: it was deleted, or the recipient gets it no more.
            NotificationRefused: it could not be run or sent.
        """
        async with self.transactions.read(workspace.id) as transaction:
            email_report = await transaction.resources.get(EmailReport, notification.source_id)
        if email_report is None:
            raise NotificationObsolete("The scheduled e-mail was deleted")
        if notification.occurrence == CONFIRM_OCCURRENCE:
            message = self._build_confirmation_email(workspace, email_report, notification)
        else:
            await self._require_sendable_recipient(email_report, notification)
            message = await self._build_message(workspace, email_report, notification)
        try:
            await self.email_sender.send(message)
        except EmailSenderUnavailable as fault:
            raise NotificationRefused(f"The mail server did not take it: {fault}") from None

    async def _require_sendable_recipient(
        self, email_report: EmailReport, notification: Notification
    ) -> None:
        email, is_test = notification.target, notification.occurrence.startswith(TEST_OCCURRENCE)
        if is_test:
            return
        if not email_report.active or email not in email_report.recipients:
            raise NotificationObsolete("The address is no recipient any more, or the e-mail is paused")
        statuses = await self.statuses.get_statuses(email_report.workspace_id, email_report.id, [email])
        if not statuses[email].is_sendable:
            raise NotificationObsolete(f"The recipient is {statuses[email]}")

    async def _build_message(
        self, workspace: Workspace, email_report: EmailReport, notification: Notification
    ) -> EmailMessage:
        is_test = notification.occurrence.startswith(TEST_OCCURRENCE)
        try:
            emailed = await self._run_report_or_dashboard(
                workspace, email_report, notification, is_test=is_test
            )
        except ApiError as refusal:
            raise NotificationRefused(f"The report could not be run: {refusal.message}") from None
        text, html = self.renderer.render_email(emailed)
        subject = " ".join(email_report.name.split())
        return EmailMessage(
            notification.target,
            f"[Test] {subject}" if is_test else subject,
            text,
            html,
            emailed.unsubscribe_url,
            str(notification.id),
        )

    async def _run_report_or_dashboard(
        self, workspace: Workspace, email_report: EmailReport, notification: Notification, *, is_test: bool
    ) -> EmailedRun:
        caller = build_unlimited_read_only_caller(workspace, notification.due_at, "Scheduled e-mail")
        run: ReportRun | DashboardRun
        reports: ReportsById = {}
        async with self.transactions.read(workspace.id) as transaction:
            record = await transaction.resources.get(
                Report if email_report.object_type == "report" else Dashboard, email_report.object_id
            )
            if isinstance(record, Dashboard):
                reports = await load_card_reports(transaction.resources, record)
        if isinstance(record, Dashboard):
            run = await run_dashboard(caller, record, reports, RunOverrides(), self.runner)
        elif isinstance(record, Report):
            reports = {record.id: record}
            run = await self.runner.reports.for_one_request().run_with_supported_filters(
                caller, record, RunReport()
            )
        else:
            raise NotificationObsolete(f"The {email_report.object_type} was deleted")
        path = f"/w/{workspace.public_id}/{email_report.object_type}s/{record.id}"
        link = EmailLink("unsubscribe", notification.source_type, email_report.id, notification.target)
        return EmailedRun(
            email_report,
            workspace,
            record,
            run,
            reports,
            f"{self.urls.web_url}{path}",
            None if is_test else build_signed_url(workspace, link, self.urls.web_url),
        )

    def _build_confirmation_email(
        self, workspace: Workspace, email_report: EmailReport, notification: Notification
    ) -> EmailMessage:
        email = notification.target
        if email not in email_report.recipients:
            raise NotificationObsolete("The address is no recipient any more")
        link = EmailLink("confirm", notification.source_type, email_report.id, email)
        name, subject = " ".join(workspace.name.split()), " ".join(email_report.name.split())
        how_often = "every week" if email_report.frequency == "weekly" else "every month"
        text = (
            f"{name} would like to send you “{subject}” {how_often}. To get it, confirm your address:\n\n"
            f"{build_signed_url(workspace, link, self.urls.web_url)}\n\n"
            "If you don't want it, ignore this e-mail: nothing more is sent.\n"
        )
        return EmailMessage(email, f"Confirm e-mails from {name}", text, id=str(notification.id))
