"""Builds what puts notifications into the outbox and sends them."""

from dataclasses import dataclass
from typing import Final

from hosts.composition.components import build_report_batch_runner
from hosts.composition.ports import Ports
from hosts.web.email_cards import CardEmailRenderer
from service_core.access.public_urls import PublicUrls
from service_core.delivery.notifications.delivery_worker import NotificationWorker
from service_core.delivery.notifications.email_report_sender import EmailReportSender
from service_core.delivery.notifications.schedule_email_reports import EmailReportScheduler
from service_core.kernel.clock import Clock
from service_core.kernel.settings import Settings
from service_core.workspace.email_reports.models import EmailReport
from service_core.workspace.notifications.models import Channel
from service_core.workspace.notifications.recipients import RecipientStatuses

NOTIFICATION_SECONDS: Final = 30
"""Interval of looking for due notifications."""


@dataclass(frozen=True, slots=True)
class Notifications:
    """Puts due notifications into the outbox, and sends those in it."""

    email_reports: EmailReportScheduler
    worker: NotificationWorker
    clock: Clock

    async def run(self) -> None:
        """Queues and sends what is due now.

        Raises:
            StoreUnavailable: something cannot be read or kept here; the next run continues.
        """
        now = self.clock()
        await self.email_reports.queue_due_emails(now)
        await self.worker.send_due_notifications()
        await self.worker.delete_old_results(now)


def build_notifications(ports: Ports, settings: Settings) -> Notifications:
    """Returns the notifications of a deployment."""
    statuses = ports.build_from_adapters(RecipientStatuses)
    sender = ports.build_from_adapters(
        EmailReportSender,
        runner=build_report_batch_runner(ports, settings),
        statuses=statuses,
        urls=PublicUrls(settings.http.effective_api_url, settings.http.effective_app_url),
        renderer=CardEmailRenderer(ports.registry.catalog),
    )
    worker = ports.build_from_adapters(
        NotificationWorker, senders={(EmailReport.resource_type, Channel.EMAIL): sender.send}
    )
    scheduler = ports.build_from_adapters(EmailReportScheduler, statuses=statuses)
    return Notifications(scheduler, worker, ports.clock)
