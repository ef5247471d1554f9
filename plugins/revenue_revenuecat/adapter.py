"""The webhook of RevenueCat: a fixed password in a header, a signature for who wants one, and one event per message."""

from collections.abc import Mapping
from typing import Any, Final

from plugins.revenue_revenuecat.mapping import PROVIDER, mapped
from service_core.plugin import Delivery, Mapped, is_same, is_stamped

SECRET: Final = "webhook_secret"  # noqa: S105 - the name of it
"""The value entered at RevenueCat under "Authorization header value", as it stands there."""

KEY: Final = "signing_secret"
"""The secret RevenueCat shows where webhooks are let be signed; without it, none has to be."""


class RevenueCat:
    """Implements the port `RevenueProvider`."""

    @property
    def id(self) -> str:
        """``revenuecat``."""
        return PROVIDER

    def is_genuine(self, delivery: Delivery, secrets: Mapping[str, str]) -> bool:
        """Whether the header has the password; with a key to sign with, whether body and time are signed, too."""
        headers, key = delivery.headers, secrets.get(KEY, "")
        if key and not is_stamped(headers.get("x-revenuecat-webhook-signature", ""), key, delivery):
            return False
        return is_same(headers.get("authorization", ""), secrets.get(SECRET, ""))

    def mapped(self, message: Mapping[str, Any], delivery: Delivery, account_id: str) -> Mapped:  # noqa: ARG002 - all is in the body
        """What a message says.

        Raises:
            ValueError: it has no event, or an event without type, id or time.
        """
        return mapped(message, account_id)
