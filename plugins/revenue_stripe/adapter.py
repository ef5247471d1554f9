"""Stripe as a revenue provider: who signed a message; what it says stands in `mapping`."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.plugin import Delivery, Mapped, is_stamped

SECRET: Final = "webhook_secret"  # noqa: S105 - the name of a secret
HEADER: Final = "stripe-signature"


class Stripe:
    """Implements the port `RevenueProvider`."""

    id = "stripe"

    def is_genuine(self, delivery: Delivery, secrets: Mapping[str, str]) -> bool:
        """Whether one of the signatures is that of ``t.body``, and ``t`` is recent.

        There are several while a secret is rolled: the old one and the new one sign both.
        """
        return is_stamped(delivery.headers.get(HEADER, ""), secrets.get(SECRET, ""), delivery)

    def mapped(self, message: Mapping[str, Any], delivery: Delivery, account_id: str) -> Mapped:  # noqa: ARG002 - the body says all
        """What an event of Stripe says.

        Raises:
            ValueError: it is no such event.
        """
        from plugins.revenue_stripe.mapping import mapped  # noqa: PLC0415 - needed where webhooks come in

        return mapped(message, account_id)
