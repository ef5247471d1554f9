"""The webhook of Superwall, which Svix delivers and signs."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from plugins.revenue_superwall.mapping import PROVIDER, mapped
from service_core.plugin import Delivery, Mapped, hmac_sha256, is_recent, is_same

SECRET: Final = "webhook_secret"  # noqa: S105 - the name of it
"""The signing secret of the webhook, ``whsec_…``."""

_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what every secret begins with
_VERSION: Final = "v1,"


class Superwall:
    """Implements the port `RevenueProvider`."""

    @property
    def id(self) -> str:
        """``superwall``."""
        return PROVIDER

    def is_genuine(self, delivery: Delivery, secrets: Mapping[str, str]) -> bool:
        """Whether one of the signatures is of id, time and body, and the time is near.

        There are several while the secret is changed.
        """
        headers, key = delivery.headers, _key(secrets.get(SECRET, ""))
        id_, stamp = headers.get("svix-id", ""), headers.get("svix-timestamp", "")
        if not key or not id_ or not is_recent(stamp, delivery.received_at):
            return False
        signed = f"{id_}.{stamp}.".encode("utf-8", "replace") + delivery.body
        expected = _VERSION + base64.b64encode(hmac_sha256(key, signed)).decode()
        return any(is_same(sent, expected) for sent in headers.get("svix-signature", "").split(" "))

    def mapped(self, message: Mapping[str, Any], delivery: Delivery, account_id: str) -> Mapped:  # noqa: ARG002 - all is in the body
        """What a message says.

        Raises:
            ValueError: it has no data, or data without name, id or time.
        """
        return mapped(message, account_id)


def _key(secret: str) -> bytes:
    """The bytes a secret stands for; none when it is not one of Svix."""
    try:
        return base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return b""
