"""Verification of webhook signatures."""

import base64
import hashlib
import hmac
import re
from datetime import datetime
from typing import Final

from service_core.commerce.providers.models import WebhookDelivery

TOLERANCE_SECONDS: Final = 300
"""A signed message older than this, or as far ahead, is taken for a replay."""

_EPOCH_SECONDS: Final = re.compile(r"[0-9]{1,12}")


def is_epoch_within_300_seconds(epoch_seconds: str, received_at: datetime) -> bool:
    """Returns whether the signed time is within `TOLERANCE_SECONDS` of the receipt.

    Args:
        epoch_seconds: epoch seconds, as the header has them.
        received_at: aware UTC.
    """
    if not _EPOCH_SECONDS.fullmatch(epoch_seconds):
        return False
    return abs(received_at.timestamp() - int(epoch_seconds)) <= TOLERANCE_SECONDS


def hmac_sha256(key: str | bytes, message: bytes) -> bytes:
    """The digest to compare with what was sent, in bytes."""
    return hmac.digest(key.encode() if isinstance(key, str) else key, message, hashlib.sha256)


def constant_time_equals(sent: str, expected: str) -> bool:
    """Compare in constant time, whatever was sent; an empty text is never the expected one."""
    return bool(expected) and hmac.compare_digest(sent.encode("utf-8", "replace"), expected.encode())


def verify_timestamped_signature(signature_header: str, key: str, delivery: WebhookDelivery) -> bool:
    """Returns whether a header ``t=…,v1=…`` has a recent time and the hexadecimal HMAC-SHA256 of ``t.body``.

    There may be several ``v1`` while a key is changed: the old one and the new one sign both.
    """
    pairs = [part.strip().partition("=") for part in signature_header.split(",")]
    stamps = [value for name, _, value in pairs if name == "t"]
    if not key or len(stamps) != 1 or not is_epoch_within_300_seconds(stamps[0], delivery.received_at):
        return False
    expected = hmac_sha256(key, stamps[0].encode() + b"." + delivery.body).hex()
    return any(constant_time_equals(value, expected) for name, _, value in pairs if name == "v1")


def verify_standard_webhook(header_prefix: str, key: str | bytes, delivery: WebhookDelivery) -> bool:
    """Returns whether a Standard Webhooks signature of id, time and body is valid and the time is recent.

    Args:
        header_prefix: what the three headers begin with: ``webhook``, or ``svix``.
        key: without it nothing is genuine.
        delivery: as it came.
    """
    id_, stamp, signatures = (
        delivery.headers.get(f"{header_prefix}-{name}", "") for name in ("id", "timestamp", "signature")
    )
    if not key or not id_ or not is_epoch_within_300_seconds(stamp, delivery.received_at):
        return False
    signed = f"{id_}.{stamp}.".encode("utf-8", "replace") + delivery.body
    expected = "v1," + base64.b64encode(hmac_sha256(key, signed)).decode()
    return any(constant_time_equals(sent, expected) for sent in signatures.split(" "))
