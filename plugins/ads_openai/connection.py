"""How OpenAI is connected."""

from typing import Final

from service_core.plugin import ConnectionDeclaration, CredentialField

CONNECTION: Final = ConnectionDeclaration(
    "OpenAI",
    "https://platform.openai.com/",
    (CredentialField("api_key", "API key", "Of the account whose pixel takes the conversions."),),
)
