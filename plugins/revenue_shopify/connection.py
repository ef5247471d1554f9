"""How Shopify is connected."""

from typing import Final

from service_core.plugin import ConnectionDeclaration, CredentialField

CONNECTION: Final = ConnectionDeclaration(
    "Shopify",
    "https://admin.shopify.com/settings/notifications/webhooks",
    (
        CredentialField(
            "webhook_secret",
            "Webhook signing secret",
            "Below the list of webhooks in the settings of the shop, or the secret of the app that made them.",
            required=False,
        ),
        CredentialField(
            "access_token",
            "Admin API access token",
            "Of a custom app that can read orders; orders are then polled, too.",
            required=False,
        ),
    ),
)
