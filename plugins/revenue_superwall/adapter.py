"""The webhook of Superwall, which Svix delivers and signs."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from plugins.revenue_superwall.mapping import PROVIDER, mapped
from service_core.plugin import Delivery, Mapped, is_standard

SECRET: Final = "webhook_secret"  # noqa: S105 - the name of it
"""The signing secret of the webhook, ``whsec_…``."""

_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what every secret begins with


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
        return is_standard("svix", _key(secrets.get(SECRET, "")), delivery)

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
