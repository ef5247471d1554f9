"""The webhook of Superwall, which Svix delivers and signs."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from plugins.revenue_superwall.connection import CONNECTION
from plugins.revenue_superwall.mapping import EVENT_NAMES, PROVIDER, map_message
from service_core.plugin import (
    MappedMessage,
    RevenueProviderInfo,
    WebhookDelivery,
    verify_standard_webhook,
)

WEBHOOK_SECRET: Final = "webhook_secret"  # noqa: S105 - the name of it
"""The signing secret of the webhook, ``whsec_…``."""

_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what every secret begins with


class Superwall:
    """Implements the port `RevenueProvider`."""

    @property
    def id(self) -> str:
        """``superwall``."""
        return PROVIDER

    @property
    def info(self) -> RevenueProviderInfo:
        """Events of Superwall."""
        return RevenueProviderInfo(
            event_names=EVENT_NAMES,
            connection=CONNECTION,
        )

    def verify_signature(self, delivery: WebhookDelivery, secrets: Mapping[str, str]) -> bool:
        """Whether one of the signatures is of id, time and body, and the time is near.

        There are several while the secret is changed.
        """
        return verify_standard_webhook(
            "svix", _decode_secret_or_empty(secrets.get(WEBHOOK_SECRET, "")), delivery
        )

    def map_message(
        self,
        message: Mapping[str, Any],
        delivery: WebhookDelivery,  # noqa: ARG002 - all is in the body
        account_id: str,
    ) -> MappedMessage:
        """Returns the events of a message.

        Raises:
            ValueError: it has no data, or data without name, id or time.
        """
        return map_message(message, account_id)


def _decode_secret_or_empty(secret: str) -> bytes:
    """Returns the decoded secret; empty if it is not a valid Svix secret, so that nothing verifies."""
    try:
        return base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return b""
