"""Builds what puts notifications into the outbox and sends them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from hosts.composition.components import build_report_batch_runner
from hosts.composition.ports import Ports
from hosts.composition.webhook_client import HttpsWebhookClient
from hosts.web.email_cards import CardEmailRenderer
from service_core.access.public_urls import PublicUrls
from service_core.delivery.notifications.alert_sender import AlertSender
from service_core.delivery.notifications.approval_sender import ApprovalEmailSender
from service_core.delivery.notifications.check_alerts import AlertChecker
from service_core.delivery.notifications.delivery_worker import NotificationWorker
from service_core.delivery.notifications.email_report_sender import EmailReportSender
from service_core.delivery.notifications.schedule_email_reports import EmailReportScheduler
from service_core.delivery.notifications.signed_webhooks import SignedWebhooks, WebhookClient
from service_core.kernel.clock import Clock
from service_core.kernel.settings import Settings
from service_core.workspace.alerts.models import Alert
from service_core.workspace.approvals.models import WriteApproval
from service_core.workspace.email_reports.models import EmailReport
from service_core.workspace.notifications.models import Channel
from service_core.workspace.notifications.recipients import RecipientStatuses

NOTIFICATION_SECONDS: Final = 30
"""Interval of looking for due notifications."""

DELETION_INTERVAL: Final = timedelta(hours=1)
"""Interval of deleting old results."""


@dataclass(slots=True)
class Notifications:
    """Puts due notifications into the outbox, and sends those in it.

    Attributes:
        results_kept_for: time after which results are deleted.
        next_deletion_at: when old results are deleted again; None before the first time.
    """

    email_reports: EmailReportScheduler
    alerts: AlertChecker
    worker: NotificationWorker
    clock: Clock
    results_kept_for: timedelta
    next_deletion_at: datetime | None = None

    async def run(self) -> None:
        """Queues and sends what is due now.

        Raises:
            StoreUnavailable: something cannot be read or kept here; the next run continues.
        """
        now = self.clock()
        await self.email_reports.queue_due_emails(now)
        await self.alerts.check_due_alerts(now)
        await self.worker.send_due_notifications()
        if self.next_deletion_at is None or self.next_deletion_at <= now:
            await self.worker.delete_old_results(now - self.results_kept_for)
            self.next_deletion_at = now + DELETION_INTERVAL


def build_notifications(
    ports: Ports, settings: Settings, webhooks: WebhookClient | None = None
) -> Notifications:
    """Returns the notifications of a deployment.

    Args:
        ports: its adapters.
        settings: its settings.
        webhooks: sends webhooks; None sends them over https.
    """
    statuses = ports.build_from_adapters(RecipientStatuses)
    runner = build_report_batch_runner(ports, settings)
    urls = PublicUrls(settings.http.effective_api_url, settings.http.effective_app_url)
    sender = ports.build_from_adapters(
        EmailReportSender,
        runner=runner,
        statuses=statuses,
        urls=urls,
        renderer=CardEmailRenderer(ports.registry.catalog),
    )
    alert_sender = ports.build_from_adapters(
        AlertSender,
        statuses=statuses,
        urls=urls,
        webhooks=SignedWebhooks(webhooks or HttpsWebhookClient.from_settings(settings)),
    )
    senders = {
        (EmailReport.resource_type, Channel.EMAIL): sender.send,
        (Alert.resource_type, Channel.EMAIL): alert_sender.send_email,
        (Alert.resource_type, Channel.WEBHOOK): alert_sender.send_webhook,
        (WriteApproval.resource_type, Channel.EMAIL): ports.build_from_adapters(ApprovalEmailSender).send,
    }
    worker = ports.build_from_adapters(NotificationWorker, senders=senders)
    checker = ports.build_from_adapters(
        AlertChecker, reports=runner.reports, statuses=statuses, urls=urls, catalog=ports.registry.catalog
    )
    scheduler = ports.build_from_adapters(EmailReportScheduler, statuses=statuses)
    kept_for = timedelta(days=settings.deliveries.retention_days)
    return Notifications(scheduler, checker, worker, ports.clock, kept_for)
