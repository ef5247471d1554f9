"""How Superwall is connected."""

from typing import Final

from service_core.plugin import ConnectionDeclaration, CredentialField

CONNECTION: Final = ConnectionDeclaration(
    "Superwall",
    "https://superwall.com/applications",
    (
        CredentialField(
            "webhook_secret", "Webhook signing secret", "Under Integrations, Webhooks, such as whsec_…."
        ),
    ),
)
