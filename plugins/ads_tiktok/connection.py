"""How TikTok is connected."""

from typing import Final

from service_core.plugin import ConnectionDeclaration, CredentialField

CONNECTION: Final = ConnectionDeclaration(
    "TikTok",
    "https://business-api.tiktok.com/portal/apps",
    (
        CredentialField(
            "access_token",
            "Access token",
            "Long-term token of the app, for the advertisers that gave it access.",
        ),
        CredentialField(
            "app_id", "App ID", "Of the app in the TikTok for Business developer portal.", secret=False
        ),
        CredentialField("secret", "App secret", "Of the same app."),
    ),
)
