"""Shopify as a revenue provider: who signed a message; what it says stands in `mapping`."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from service_core.plugin import Delivery, Mapped, hmac_sha256, is_same

SECRET: Final = "webhook_secret"  # noqa: S105 - the name of a secret
SIGNATURE: Final = "x-shopify-hmac-sha256"
TOPIC: Final = "x-shopify-topic"


class Shopify:
    """Implements the port `RevenueProvider`."""

    id = "shopify"

    def is_genuine(self, delivery: Delivery, secrets: Mapping[str, str]) -> bool:
        """Whether the signature is that of the body; Shopify signs nothing else, and no time."""
        secret = secrets.get(SECRET)
        if not secret:
            return False
        expected = b64encode(hmac_sha256(secret, delivery.body)).decode()
        return is_same(delivery.headers.get(SIGNATURE, ""), expected)

    def mapped(self, message: Mapping[str, Any], delivery: Delivery, account_id: str) -> Mapped:  # noqa: ARG002 - it tells of no subscription
        """What a message of Shopify says; its topic stands in a header alone.

        Raises:
            ValueError: it is not what Shopify documents.
        """
        from plugins.revenue_shopify.mapping import mapped  # noqa: PLC0415 - needed where webhooks come in

        return mapped(message, delivery)
