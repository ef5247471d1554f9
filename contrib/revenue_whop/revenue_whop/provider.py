"""The port `RevenueProvider`: who signed a message; what it says stands in `mapping`."""

import base64
from collections.abc import Mapping
from typing import Any

from revenue_whop.mapping import PROVIDER, mapped
from service_core.plugin import Delivery, Mapped, hmac_sha256, is_recent, is_same


class Whop:
    """Whop signs by Standard Webhooks, with the characters of its secret as the key."""

    id = PROVIDER

    def is_genuine(self, delivery: Delivery, secrets: Mapping[str, str]) -> bool:
        """Whether one of the signatures is of id, time and body, and the time is near."""
        headers, secret = delivery.headers, secrets.get("webhook_secret", "")
        id_, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        if not secret or not id_ or not is_recent(stamp, delivery.received_at):
            return False
        signed = f"{id_}.{stamp}.".encode("utf-8", "replace") + delivery.body
        expected = "v1," + base64.b64encode(hmac_sha256(secret, signed)).decode()
        return any(is_same(sent, expected) for sent in headers.get("webhook-signature", "").split(" "))

    def mapped(self, message: Mapping[str, Any], delivery: Delivery, account_id: str) -> Mapped:  # noqa: ARG002 - all is in the body
        """What a message says.

        Raises:
            ValueError: it has no type, id, time or data.
        """
        return mapped(message)
