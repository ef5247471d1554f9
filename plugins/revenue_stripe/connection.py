"""How Stripe is connected."""

from typing import Final

from service_core.plugin import ConnectionDeclaration, CredentialField

CONNECTION: Final = ConnectionDeclaration(
    "Stripe",
    "https://dashboard.stripe.com/webhooks",
    (
        CredentialField(
            "webhook_secret",
            "Webhook signing secret",
            "Of the webhook endpoint, such as whsec_….",
            required=False,
        ),
        CredentialField(
            "api_key",
            "API key",
            "Restricted key that can read events and balance transactions; Stripe is then polled, too.",
            required=False,
        ),
    ),
)
