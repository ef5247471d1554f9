"""How Google Ads is connected."""

from typing import Final

from service_core.plugin import ConnectionDeclaration, CredentialField

CONNECTION: Final = ConnectionDeclaration(
    "Google Ads",
    "https://ads.google.com/aw/apicenter",
    (
        CredentialField("developer_token", "Developer token", "In the API Center of your manager account."),
        CredentialField(
            "client_id",
            "OAuth client ID",
            "Of a Google Cloud project where the Google Ads API is enabled.",
            secret=False,
        ),
        CredentialField("client_secret", "OAuth client secret", "Of the same OAuth client."),
        CredentialField(
            "refresh_token",
            "Refresh token",
            "Of a person with access to the accounts, for the scope https://www.googleapis.com/auth/adwords.",
        ),
        CredentialField(
            "login_customer_id",
            "Manager account ID",
            "Only for accounts below a manager account.",
            required=False,
            secret=False,
        ),
    ),
)
