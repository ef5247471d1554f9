"""The port `RevenueProvider`: who signed a message; what it says stands in `mapping`."""

from collections.abc import Mapping
from typing import Any

from revenue_whop.mapping import EVENT_NAMES, PROVIDER, map_message
from service_core.plugin import (
    ConnectionDeclaration,
    CredentialField,
    MappedMessage,
    RevenueProviderInfo,
    WebhookDelivery,
    verify_standard_webhook,
)


class Whop:
    """Whop signs by Standard Webhooks, with the characters of its secret as the key."""

    id = PROVIDER
    info = RevenueProviderInfo(
        event_names=tuple(sorted(set(EVENT_NAMES.values()))),
        connection=ConnectionDeclaration(
            "Whop",
            "https://whop.com/dashboard/developer",
            (CredentialField("webhook_secret", "Webhook secret", "Of the webhook, on the developer page."),),
        ),
    )

    def verify_signature(self, delivery: WebhookDelivery, secrets: Mapping[str, str]) -> bool:
        """Whether one of the signatures is of id, time and body, and the time is near."""
        return verify_standard_webhook("webhook", secrets.get("webhook_secret", ""), delivery)

    def map_message(
        self,
        message: Mapping[str, Any],
        delivery: WebhookDelivery,  # noqa: ARG002 - all is in the body
        account_id: str,  # noqa: ARG002 - all is in the body
    ) -> MappedMessage:
        """Returns the events of a message.

        Raises:
            ValueError: it has no type, id, time or data.
        """
        return map_message(message)
