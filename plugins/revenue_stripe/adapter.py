"""Stripe as a revenue provider: who signed a message, and whom to ask; what it says stands in `mapping`."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from plugins.revenue_stripe.connection import CONNECTION
from service_core.plugin import (
    Clock,
    ExternalIdEvent,
    MappedMessage,
    PolledMessage,
    PollRequest,
    RevenueProviderInfo,
    WebhookDelivery,
    system_clock,
    verify_timestamped_signature,
)

WEBHOOK_SECRET: Final = "webhook_secret"  # noqa: S105 - the name of a secret
SIGNATURE_HEADER: Final = "stripe-signature"
API_URL: Final = "https://api.stripe.com/v1"


@dataclass(frozen=True, slots=True)
class Stripe:
    """Implements the ports `RevenueProvider` and `PollableProvider`.

    Attributes:
        api: address of the API with its version.
        clock: the present.
    """

    api: str = API_URL
    clock: Clock = system_clock

    @property
    def id(self) -> str:
        """``stripe``."""
        return "stripe"

    @property
    def info(self) -> RevenueProviderInfo:
        """Events of Stripe, and the event by which a site names a Checkout session."""
        return RevenueProviderInfo(
            event_names=(
                "billing_failed",
                "payment_fee",
                "purchase",
                "refund",
                "subscription_cancelled",
                "subscription_changed",
                "subscription_started",
                "trial_started",
            ),
            external_id_events={
                "$stripe_checkout_session": ExternalIdEvent(
                    "stripe_checkout_session", ("session_id", "sessionId", "checkout_session_id")
                )
            },
            connection=CONNECTION,
        )

    def verify_signature(self, delivery: WebhookDelivery, secrets: Mapping[str, str]) -> bool:
        """Whether one of the signatures is that of ``t.body``, and ``t`` is recent.

        There are several while a secret is rolled: the old one and the new one sign both.
        """
        return verify_timestamped_signature(
            delivery.headers.get(SIGNATURE_HEADER, ""), secrets.get(WEBHOOK_SECRET, ""), delivery
        )

    def map_message(
        self,
        message: Mapping[str, Any],
        delivery: WebhookDelivery,  # noqa: ARG002 - the body says all
        account_id: str,
    ) -> MappedMessage:
        """Returns the events of a message of Stripe.

        Raises:
            ValueError: it is no such event.
        """
        from plugins.revenue_stripe.mapping import map_message  # noqa: PLC0415 - needed where webhooks come in

        return map_message(message, account_id)

    def can_poll(self, secrets: Mapping[str, str]) -> bool:
        """Whether there is a key to ask with."""
        return bool(secrets.get("api_key"))

    def poll_messages(self, request: PollRequest) -> AsyncGenerator[Sequence[PolledMessage], None]:
        """The events of the last 30 days, which is as long as Stripe keeps them, or of those since a time, and fees.

        Raises:
            PlatformUnavailable: Stripe cannot be read now.
            CredentialsRejected: the key is not good.
        """
        from plugins.revenue_stripe.polling import poll_mapped_events_latest_first  # noqa: PLC0415 - needed where Stripe is asked

        return poll_mapped_events_latest_first(self.api, request, self.clock)

    def with_base_url(self, base_url: str) -> "Stripe":
        """Returns an adapter for a proxy."""
        return replace(self, api=base_url)
