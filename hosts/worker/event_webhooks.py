"""Builds what sends stored events to the webhooks of workspaces."""

from hosts.composition.ports import Ports
from hosts.composition.webhook_client import HttpsWebhookClient
from service_core.changes.change_executor import ChangeExecutor
from service_core.delivery.notifications.delivery_worker import NotificationWorker
from service_core.delivery.notifications.signed_webhooks import SignedWebhooks, WebhookClient
from service_core.delivery.plugin_tasks.event_webhooks import EventWebhookSender
from service_core.kernel.settings import Settings
from service_core.workspace.notifications.models import (
    EVENT_WEBHOOK_TYPE,
    TEST_WEBHOOK_TYPE,
    Channel,
    DeliveryQueue,
)
from service_core.workspace.webhooks.resource import WEBHOOK_TYPE


def build_event_webhook_worker(
    ports: Ports, settings: Settings, webhooks: WebhookClient | None = None
) -> NotificationWorker:
    """Returns the worker that sends events to webhooks.

    Args:
        ports: the adapters.
        settings: the settings.
        webhooks: sends webhooks; None sends them over https.
    """
    sender = ports.build_from_adapters(
        EventWebhookSender,
        changes=ChangeExecutor(ports.workspace.transactions, [WEBHOOK_TYPE]),
        webhooks=SignedWebhooks(webhooks or HttpsWebhookClient.from_settings(settings)),
    )
    return ports.build_from_adapters(
        NotificationWorker,
        senders={
            (EVENT_WEBHOOK_TYPE, Channel.WEBHOOK): sender.send_event,
            (TEST_WEBHOOK_TYPE, Channel.WEBHOOK): sender.send_test_message,
        },
        queue=DeliveryQueue.EVENT_WEBHOOKS,
    )
