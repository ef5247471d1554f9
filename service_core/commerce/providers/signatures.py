"""What signatures of webhooks have in common (semantics 11.2)."""

import hashlib
import hmac
import re
from datetime import datetime
from typing import Final

WINDOW_SECONDS: Final = 300
"""A signed message older than this, or as far ahead, is taken for a replay."""

_SECONDS: Final = re.compile(r"[0-9]{1,12}")


def is_recent(stamp: str, received_at: datetime) -> bool:
    """Whether the time that was signed is within `WINDOW_SECONDS` of the receipt.

    Args:
        stamp: epoch seconds, as the header has them.
        received_at: aware UTC.
    """
    if not _SECONDS.fullmatch(stamp):
        return False
    return abs(received_at.timestamp() - int(stamp)) <= WINDOW_SECONDS


def hmac_sha256(key: str | bytes, message: bytes) -> bytes:
    """The digest to compare with what was sent, in bytes."""
    return hmac.digest(key.encode() if isinstance(key, str) else key, message, hashlib.sha256)


def is_same(sent: str, expected: str) -> bool:
    """Compare in constant time, whatever was sent; an empty text is never the expected one."""
    return bool(expected) and hmac.compare_digest(sent.encode("utf-8", "replace"), expected.encode())
