"""Stripe as a revenue provider: who signed a message, and whom to ask; what it says stands in `mapping`."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from service_core.plugin import (
    Clock,
    Delivery,
    Mapped,
    Poll,
    ProviderMessage,
    is_stamped,
    system_clock,
)

SECRET: Final = "webhook_secret"  # noqa: S105 - the name of a secret
HEADER: Final = "stripe-signature"
API: Final = "https://api.stripe.com/v1"


@dataclass(frozen=True, slots=True)
class Stripe:
    """Implements the ports `RevenueProvider` and `Pollable`.

    Attributes:
        api: address of the API with its version.
        clock: the present.
    """

    api: str = API
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``stripe``."""
        return "stripe"

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

    def is_open(self, secrets: Mapping[str, str]) -> bool:
        """Whether there is a key to ask with."""
        return bool(secrets.get("api_key"))

    def messages(self, poll: Poll) -> AsyncGenerator[Sequence[ProviderMessage], None]:
        """The events of the last 30 days, which is as long as Stripe keeps them, or of those since a time.

        Raises:
            PlatformDown: Stripe cannot be read now.
            PlatformRefused: the key is not good.
        """
        from plugins.revenue_stripe.polling import events  # noqa: PLC0415 - needed where Stripe is asked

        return events(self.api, poll, self.clock)

    def at(self, address: str) -> "Stripe":
        """The same, behind a proxy."""
        return replace(self, api=address)
