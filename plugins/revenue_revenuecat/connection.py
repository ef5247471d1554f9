"""How RevenueCat is connected."""

from typing import Final

from service_core.plugin import ConnectionDeclaration, CredentialField

CONNECTION: Final = ConnectionDeclaration(
    "RevenueCat",
    "https://app.revenuecat.com/",
    (
        CredentialField(
            "webhook_secret",
            "Authorization header",
            "A value of your own, at least 32 random characters, that you enter under Integrations, Webhooks.",
        ),
        CredentialField(
            "signing_secret",
            "Webhook signing secret",
            "Where RevenueCat shows one; every message then has to be signed.",
            required=False,
        ),
    ),
)
