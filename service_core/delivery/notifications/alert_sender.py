"""Sends alerts by e-mail and by signed webhook (Standard Webhooks)."""

from dataclasses import dataclass

from service_core.access.email_sender import EmailMessage, EmailSender, EmailSenderUnavailable
from service_core.access.models import Workspace
from service_core.access.public_urls import PublicUrls
from service_core.changes.ports import Transactions
from service_core.delivery.notifications.delivery_worker import NotificationObsolete, NotificationRefused
from service_core.delivery.notifications.signed_webhooks import SignedWebhooks
from service_core.kernel.clock import Clock
from service_core.workspace.alerts.models import Alert, alert_webhook_secret
from service_core.workspace.notifications.models import CONFIRM_OCCURRENCE, RESOLVED_SUFFIX, Notification
from service_core.workspace.notifications.recipients import RecipientStatuses
from service_core.workspace.notifications.signed_links import EmailLink, build_signed_url


@dataclass(frozen=True, slots=True)
class AlertSender:
    """Sends the notifications of alerts.

    Attributes:
        transactions: reads alerts.
        statuses: who gets e-mails.
        urls: addresses of the web application.
        email_sender: sends e-mails.
        webhooks: sends webhooks.
        clock: returns the current time.
    """

    transactions: Transactions
    statuses: RecipientStatuses
    urls: PublicUrls
    email_sender: EmailSender
    webhooks: SignedWebhooks
    clock: Clock

    async def send_email(self, workspace: Workspace, notification: Notification) -> None:
        """Sends an alert, or the request to confirm its recipient, by e-mail.

        Raises:
            NotificationObsolete: the alert was deleted or paused, or the recipient gets it no more.
            NotificationRefused: the mail server did not take it.
        """
        alert, email = await self._load_active_alert(workspace, notification), notification.target
        if email not in alert.recipients:
            raise NotificationObsolete("The address is no recipient any more")
        is_confirmation = notification.occurrence == CONFIRM_OCCURRENCE
        statuses = await self.statuses.get_statuses(workspace.id, alert.id, [email])
        if not is_confirmation and not statuses[email].is_sendable:
            raise NotificationObsolete(f"The recipient is {statuses[email]}")
        message = (
            self._build_confirmation_email(workspace, alert, notification)
            if is_confirmation
            else self._build_alert_email(workspace, alert, notification)
        )
        try:
            await self.email_sender.send(message)
        except EmailSenderUnavailable as fault:
            raise NotificationRefused(f"The mail server did not take it: {fault}") from None

    async def send_webhook(self, workspace: Workspace, notification: Notification) -> int:
        """Sends an alert as a signed request; returns the status of the answer.

        Raises:
            NotificationObsolete: the alert was deleted or paused, has another webhook, or its host answered 410.
            NotificationRefused: the host did not take it.
        """
        alert = await self._load_active_alert(workspace, notification)
        if notification.target != alert.webhook_url:
            raise NotificationObsolete("The webhook has another address now")
        body = (notification.payload or "").encode()
        secret = alert_webhook_secret(workspace, alert)
        return await self.webhooks.send(notification, secret, body, self.clock())

    async def _load_active_alert(self, workspace: Workspace, notification: Notification) -> Alert:
        async with self.transactions.read(workspace.id) as transaction:
            alert = await transaction.resources.get(Alert, notification.source_id)
        if alert is None or not alert.active:
            raise NotificationObsolete("The alert was deleted or paused")
        return alert

    def _build_alert_email(
        self, workspace: Workspace, alert: Alert, notification: Notification
    ) -> EmailMessage:
        link = EmailLink("unsubscribe", notification.source_type, alert.id, notification.target)
        url = build_signed_url(workspace, link, self.urls.web_url)
        text = f"{notification.payload}\nUnsubscribe: {url}\n"
        heading = "Resolved" if notification.occurrence.endswith(RESOLVED_SUFFIX) else "Alert"
        subject = f"{heading}: {' '.join(alert.name.split())}"
        return EmailMessage(notification.target, subject, text, unsubscribe_url=url, id=str(notification.id))

    def _build_confirmation_email(
        self, workspace: Workspace, alert: Alert, notification: Notification
    ) -> EmailMessage:
        link = EmailLink("confirm", notification.source_type, alert.id, notification.target)
        name = " ".join(workspace.name.split())
        text = (
            f"{name} would like to send you the alert “{' '.join(alert.name.split())}”. To get it, confirm your address:\n\n"
            f"{build_signed_url(workspace, link, self.urls.web_url)}\n\n"
            "If you don't want it, ignore this e-mail: nothing more is sent.\n"
        )
        return EmailMessage(notification.target, f"Confirm alerts from {name}", text, id=str(notification.id))
