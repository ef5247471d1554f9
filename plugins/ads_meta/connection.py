"""How Meta is connected."""

from typing import Final

from service_core.plugin import ConnectionDeclaration, CredentialField

CONNECTION: Final = ConnectionDeclaration(
    "Meta",
    "https://business.facebook.com/settings/system-users",
    (
        CredentialField(
            "access_token",
            "Access token",
            "Token of a system user with the permission ads_read; to send conversions it needs the pixel, too.",
        ),
    ),
)
