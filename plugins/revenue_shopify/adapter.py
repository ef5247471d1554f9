"""Shopify as a revenue provider: who signed a message, and whom to ask; what it says stands in `mapping`."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from service_core.plugin import (
    Clock,
    Delivery,
    Mapped,
    Poll,
    ProviderMessage,
    hmac_sha256,
    is_same,
    system_clock,
)

SECRET: Final = "webhook_secret"  # noqa: S105 - the name of a secret
SIGNATURE: Final = "x-shopify-hmac-sha256"
TOPIC: Final = "x-shopify-topic"
API: Final = "https://{shop}/admin/api/2025-10"


@dataclass(frozen=True, slots=True)
class Shopify:
    """Implements the ports `RevenueProvider` and `Pollable`.

    Attributes:
        api: address of the Admin API with its version; the shop stands in it as ``{shop}``.
        clock: the present.
    """

    api: str = API
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``shopify``."""
        return "shopify"

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

    def is_open(self, secrets: Mapping[str, str]) -> bool:
        """Whether there is a token to ask with."""
        return bool(secrets.get("access_token"))

    def messages(self, poll: Poll) -> AsyncGenerator[Sequence[ProviderMessage], None]:
        """What became of the orders that changed; of those of the last 60 days, unless the app may read all.

        Raises:
            PlatformDown: the shop cannot be read now.
            PlatformRefused: the token is not good.
        """
        from plugins.revenue_shopify.polling import orders  # noqa: PLC0415 - needed where a shop is asked

        return orders(self.api, poll, self.clock)

    def at(self, address: str) -> "Shopify":
        """The same, of another version or behind a proxy."""
        return replace(self, api=address)
