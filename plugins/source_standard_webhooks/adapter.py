"""Verifies Standard Webhooks and maps their messages to events."""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from service_core.plugin import (
    ConnectionDeclaration,
    CredentialField,
    MappedMessage,
    RevenueProviderInfo,
    WebhookDelivery,
    verify_standard_webhook,
)

_MAX_NAME_LENGTH: Final = 100
_KEY_PREFIX: Final = "whsec_"
_HEADER_PREFIXES: Final = ("webhook", "svix")
_USER_ID_FIELDS: Final = ("user_id", "userId", "external_id", "customer_id")
_EMAIL_FIELDS: Final = ("email", "email_address", "to")
_NO_NAME_CHARACTERS: Final = re.compile(r"[^a-z0-9]+")


class StandardWebhooks:
    """Implements the port `WebhookSource`."""

    id: Final = "standard_webhooks"
    info: Final = RevenueProviderInfo(
        connection=ConnectionDeclaration(
            "Standard Webhooks",
            homepage="https://www.standardwebhooks.com",
            credentials=(
                CredentialField(
                    "webhook_secret",
                    "Signing secret",
                    "Of the endpoint in the product; it begins with whsec_.",
                ),
            ),
        ),
    )

    def verify_signature(self, delivery: WebhookDelivery, secrets: Mapping[str, str]) -> bool:
        """Returns whether the headers ``webhook-…`` or ``svix-…`` sign id, time and body."""
        key = _decode_secret(secrets.get("webhook_secret", ""))
        return any(verify_standard_webhook(prefix, key, delivery) for prefix in _HEADER_PREFIXES)

    def map_message(
        self,
        message: Mapping[str, Any],
        delivery: WebhookDelivery,
        account_id: str,  # noqa: ARG002 - no subscriptions come from it
    ) -> MappedMessage:
        """Returns the event that ``type`` names, with the values of ``data`` as properties.

        Raises:
            ValueError: the message has no ``type``, or no time.
        """
        kind, data = message.get("type"), message.get("data")
        name = _NO_NAME_CHARACTERS.sub("_", kind.lower()).strip("_") if isinstance(kind, str) else ""
        if not name or not name[0].isalpha():
            raise ValueError("type is missing, or no name of an event")
        properties = dict(data) if isinstance(data, dict) else {}
        user_id = _first_text(properties, _USER_ID_FIELDS)
        email = _first_text(properties, _EMAIL_FIELDS)
        identity = {"user_id": user_id} if user_id else {}
        if email and "@" in email:
            identity["email"] = email
        return MappedMessage(
            _signed_id(delivery),
            name[:_MAX_NAME_LENGTH],
            _occurred_at(message, delivery),
            identity,
            properties,
        )


def _decode_secret(secret: str) -> bytes:
    """Returns the key of a secret; an empty one, with which nothing is genuine, if it cannot be decoded."""
    try:
        return base64.b64decode(secret.removeprefix(_KEY_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _signed_id(delivery: WebhookDelivery) -> str:
    """Returns the id that is signed; of a message that was kept without its headers the digest of its body."""
    sent = (delivery.headers.get(f"{prefix}-id") for prefix in _HEADER_PREFIXES)
    return next((id_ for id_ in sent if id_), None) or hashlib.sha256(delivery.body).hexdigest()


def _occurred_at(message: Mapping[str, Any], delivery: WebhookDelivery) -> datetime:
    """Returns the time of the message, else the signed one.

    Raises:
        ValueError: it has none.
    """
    for field in ("timestamp", "created_at"):
        if isinstance(sent := message.get(field), str):
            try:
                at = datetime.fromisoformat(sent)
            except ValueError:
                raise ValueError(f"{field} is no time of ISO 8601") from None
            return at if at.tzinfo else at.replace(tzinfo=UTC)
    for prefix in _HEADER_PREFIXES:
        if (stamp := delivery.headers.get(f"{prefix}-timestamp", "")).isdecimal():
            return datetime.fromtimestamp(int(stamp), UTC)
    raise ValueError("timestamp is missing")


def _first_text(values: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = values.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None
