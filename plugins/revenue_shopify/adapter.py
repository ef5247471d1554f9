"""Shopify as a revenue provider: who signed a message, and whom to ask; what it says stands in `mapping`."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from plugins.revenue_shopify.connection import CONNECTION
from plugins.revenue_shopify.webhook_headers import SIGNATURE_HEADER
from service_core.plugin import (
    Clock,
    MappedMessage,
    PolledMessage,
    PollRequest,
    RevenueProviderInfo,
    WebhookDelivery,
    constant_time_equals,
    hmac_sha256,
    system_clock,
)

WEBHOOK_SECRET: Final = "webhook_secret"  # noqa: S105 - the name of a secret
API_URL: Final = "https://{shop}/admin/api/2025-10"


@dataclass(frozen=True, slots=True)
class Shopify:
    """Implements the ports `RevenueProvider` and `PollableProvider`.

    Attributes:
        api: address of the Admin API with its version; the shop stands in it as ``{shop}``.
        clock: the present.
    """

    api: str = API_URL
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``shopify``."""
        return "shopify"

    @property
    def info(self) -> RevenueProviderInfo:
        """Events of Shopify, a storefront."""
        return RevenueProviderInfo(
            event_names=(
                "checkout_started",
                "order_cancelled",
                "order_fulfilled",
                "order_paid",
                "payment_fee",
                "refund",
            ),
            is_storefront=True,
            connection=CONNECTION,
        )

    def verify_signature(self, delivery: WebhookDelivery, secrets: Mapping[str, str]) -> bool:
        """Whether the signature is that of the body; Shopify signs nothing else, and no time."""
        secret = secrets.get(WEBHOOK_SECRET)
        if not secret:
            return False
        expected = b64encode(hmac_sha256(secret, delivery.body)).decode()
        return constant_time_equals(delivery.headers.get(SIGNATURE_HEADER, ""), expected)

    def map_message(
        self,
        message: Mapping[str, Any],
        delivery: WebhookDelivery,
        account_id: str,  # noqa: ARG002 - it tells of no subscription
    ) -> MappedMessage:
        """Returns the events of a message of Shopify; only a header names its topic.

        Raises:
            ValueError: it is not what Shopify documents.
        """
        from plugins.revenue_shopify.mapping import map_message  # noqa: PLC0415 - needed where webhooks come in

        return map_message(message, delivery)

    def can_poll(self, secrets: Mapping[str, str]) -> bool:
        """Whether there is a token to ask with."""
        return bool(secrets.get("access_token"))

    def poll_messages(self, request: PollRequest) -> AsyncGenerator[Sequence[PolledMessage], None]:
        """Yields the changed orders; those of the last 60 days, unless the app may read all.

        Raises:
            PlatformUnavailable: the shop cannot be read now.
            CredentialsRejected: the token is not good.
        """
        from plugins.revenue_shopify.polling import poll_changed_orders  # noqa: PLC0415 - needed where a shop is asked

        return poll_changed_orders(self.api, request, self.clock)

    def with_base_url(self, base_url: str) -> "Shopify":
        """Returns an adapter for another version of the API or a proxy."""
        return replace(self, api=base_url)
