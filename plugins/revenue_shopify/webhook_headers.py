"""Names of the headers of Shopify's webhooks, in lower case."""

from typing import Final

SIGNATURE_HEADER: Final = "x-shopify-hmac-sha256"
TOPIC_HEADER: Final = "x-shopify-topic"
