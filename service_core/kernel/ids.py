"""Identifiers and secrets: their formats, how they are generated, and how they are stored.

A secret is shown once and stored as its SHA-256 only. Each kind has a fixed format, so a malformed token is
rejected without a store look-up, and a secret scanner can find a leaked one.
"""

import base64
import hashlib
import re
import secrets
import string
import time
from threading import Lock
from typing import Final
from uuid import UUID

AGENT_TOKEN_PATTERN: Final = re.compile(r"dk_agent_[A-Za-z0-9_-]{43}")
WRITE_KEY_PATTERN: Final = re.compile(r"dk_[0-9a-f]{32}")
SIGNUP_SECRET_PATTERN: Final = re.compile(r"dl_signup_[A-Za-z0-9_-]{43}")
ACCESS_TOKEN_PATTERN: Final = re.compile(r"oat_[A-Za-z0-9_-]{43}")
ONE_TIME_TOKEN_PATTERN: Final = re.compile(r"[A-Za-z0-9_-]{43}")

_ALPHANUMERIC: Final = string.ascii_letters + string.digits


class _MonotonicUuid7Numbers:
    """Generates increasing numbers: 48 bits of milliseconds followed by 74 random bits, the payload of a UUIDv7."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = Lock()

    def next_larger_number(self) -> int:
        """Returns a number that is larger than every number this process returned before."""
        with self._lock:
            candidate = (time.time_ns() // 1_000_000) << 74 | secrets.randbits(74)
            # Within one millisecond, and after the clock was set back, it continues from the last number.
            self._last = max(candidate, self._last + 1 + secrets.randbits(32))
            return self._last


_ID_NUMBERS: Final = _MonotonicUuid7Numbers()


def new_id() -> UUID:
    """Returns a new UUIDv7 for a resource id. Later ids of the same process are larger. Not suitable as a secret."""
    number = _ID_NUMBERS.next_larger_number()
    head, tail = number >> 62, number & (2**62 - 1)
    return UUID(int=(head >> 12) << 80 | 0x7 << 76 | (head & 0xFFF) << 64 | 0x2 << 62 | tail)


def new_public_id() -> str:
    """Returns a new public workspace id: 12 random characters ``[A-Za-z0-9]``."""
    return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(12))


def new_token(prefix: str = "") -> str:
    """Returns a new secret: ``prefix`` and 32 random bytes as 43 base64url characters."""
    return prefix + encode_base64url(secrets.token_bytes(32))


def encode_base64url(data: bytes) -> str:
    """Returns the bytes in base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def new_agent_token() -> str:
    """Returns a new token for an agent key or a named key: ``dk_agent_`` and 43 base64url characters."""
    return new_token("dk_agent_")


def new_signup_secret() -> str:
    """Returns a new signup secret: ``dl_signup_`` and 43 base64url characters."""
    return new_token("dl_signup_")


def new_access_token() -> str:
    """Returns a new OAuth access token: ``oat_`` and 43 base64url characters."""
    return new_token("oat_")


def new_write_key() -> str:
    """Returns a new write key: ``dk_`` and 32 hexadecimal characters."""
    return "dk_" + secrets.token_hex(16)


def sha256_hex(secret: str) -> str:
    """Returns the SHA-256 of a text in hexadecimal. Secrets are stored in this form only."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def key_hint(secret: str) -> str:
    """Returns the part of a secret that may be shown later: its last four characters."""
    return "…" + secret[-4:]
