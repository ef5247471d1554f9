"""Identifiers and secrets: their forms, how they are made and how they are kept (contract 2.11).

A secret is shown once and stored as its SHA-256 only. Every kind has a fixed form, so a malformed
token is refused before any store is asked, and a leaked one can be found by a scanner.
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


class _MonotonicCounter:
    """Numbers that grow: 48 bits of milliseconds before 74 bits of chance, which makes a UUID but for its marks."""

    def __init__(self) -> None:
        self._last = 0
        self._lock = Lock()

    def next(self) -> int:
        """A number that nobody else has, and larger than the one before."""
        with self._lock:
            present = (time.time_ns() // 1_000_000) << 74 | secrets.randbits(74)
            # Within a millisecond, and while a clock that was set back catches up, it goes on from the last one.
            self._last = max(present, self._last + 1 + secrets.randbits(32))
            return self._last


_ID_COUNTER: Final = _MonotonicCounter()


def new_id() -> UUID:
    """A UUID of version 7, for resource ids: whatever a process makes later is larger. Never a secret."""
    place = _ID_COUNTER.next()
    head, tail = place >> 62, place & (2**62 - 1)
    return UUID(int=(head >> 12) << 80 | 0x7 << 76 | (head & 0xFFF) << 64 | 0x2 << 62 | tail)


def new_public_id() -> str:
    """Public id of a workspace: 12 random characters ``[A-Za-z0-9]``."""
    return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(12))


def new_token(prefix: str = "") -> str:
    """A secret of 32 random bytes: ``prefix`` and 43 base64url characters."""
    return prefix + encode_base64url(secrets.token_bytes(32))


def encode_base64url(data: bytes) -> str:
    """Bytes in base64url, without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def new_agent_token() -> str:
    """Token of an Agent key or named key: ``dk_agent_`` and 43 base64url characters."""
    return new_token("dk_agent_")


def new_signup_secret() -> str:
    """Secret of a signup: ``dl_signup_`` and 43 base64url characters."""
    return new_token("dl_signup_")


def new_access_token() -> str:
    """OAuth access token: ``oat_`` and 43 base64url characters."""
    return new_token("oat_")


def new_write_key() -> str:
    """Write key of a workspace: ``dk_`` and 32 hex characters."""
    return "dk_" + secrets.token_hex(16)


def sha256_hex(secret: str) -> str:
    """SHA-256 of a secret in hex: the only form that is ever stored."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def key_hint(secret: str) -> str:
    """What may be shown of a secret later on: its last four characters."""
    return "…" + secret[-4:]
