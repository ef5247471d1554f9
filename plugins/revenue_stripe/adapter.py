"""Stripe as a revenue provider: who signed a message; what it says stands in `mapping`."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.plugin import Delivery, Mapped, hmac_sha256, is_recent, is_same

SECRET: Final = "webhook_secret"  # noqa: S105 - the name of a secret
HEADER: Final = "stripe-signature"


class Stripe:
    """Implements the port `RevenueProvider`."""

    id = "stripe"

    def is_genuine(self, delivery: Delivery, secrets: Mapping[str, str]) -> bool:
        """Whether one of the signatures is that of ``t.body``, and ``t`` is recent.

        There are several while a secret is rolled: the old one and the new one sign both.
        """
        secret = secrets.get(SECRET)
        pairs = [part.strip().partition("=") for part in delivery.headers.get(HEADER, "").split(",")]
        stamps = [value for name, _, value in pairs if name == "t"]
        if not secret or len(stamps) != 1 or not is_recent(stamps[0], delivery.received_at):
            return False
        expected = hmac_sha256(secret, stamps[0].encode() + b"." + delivery.body).hex()
        return any(is_same(value, expected) for name, _, value in pairs if name == "v1")

    def mapped(self, message: Mapping[str, Any], delivery: Delivery, account_id: str) -> Mapped:  # noqa: ARG002 - the body says all
        """What an event of Stripe says.

        Raises:
            ValueError: it is no such event.
        """
        from plugins.revenue_stripe.mapping import mapped  # noqa: PLC0415 - needed where webhooks come in

        return mapped(message, account_id)
