"""The webhook of RevenueCat: a fixed password in a header, a signature for who wants one, and one event per message."""

from collections.abc import Mapping
from typing import Any, Final

from plugins.revenue_revenuecat.connection import CONNECTION
from plugins.revenue_revenuecat.mapping import EVENT_NAMES, PROVIDER, map_message
from service_core.plugin import (
    MappedMessage,
    RevenueProviderInfo,
    WebhookDelivery,
    constant_time_equals,
    verify_timestamped_signature,
)

WEBHOOK_SECRET: Final = "webhook_secret"  # noqa: S105 - the name of it
"""The value entered at RevenueCat under "Authorization header value", as it stands there."""

SIGNING_SECRET: Final = "signing_secret"  # noqa: S105 - the name of it
"""The secret RevenueCat shows where webhooks are let be signed; without it, none has to be."""


class RevenueCat:
    """Implements the port `RevenueProvider`."""

    @property
    def id(self) -> str:
        """``revenuecat``."""
        return PROVIDER

    @property
    def info(self) -> RevenueProviderInfo:
        """Events of RevenueCat."""
        return RevenueProviderInfo(
            event_names=EVENT_NAMES,
            connection=CONNECTION,
        )

    def verify_signature(self, delivery: WebhookDelivery, secrets: Mapping[str, str]) -> bool:
        """Returns whether the header has the configured password and, if a signing secret is set, body and time are signed."""
        headers, key = delivery.headers, secrets.get(SIGNING_SECRET, "")
        if key and not verify_timestamped_signature(
            headers.get("x-revenuecat-webhook-signature", ""), key, delivery
        ):
            return False
        return constant_time_equals(headers.get("authorization", ""), secrets.get(WEBHOOK_SECRET, ""))

    def map_message(
        self,
        message: Mapping[str, Any],
        delivery: WebhookDelivery,  # noqa: ARG002 - all is in the body
        account_id: str,
    ) -> MappedMessage:
        """Returns the events of a message.

        Raises:
            ValueError: it has no event, or an event without type, id or time.
        """
        return map_message(message, account_id)
