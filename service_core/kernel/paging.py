"""Pages: a window by offset, and opaque cursors bound to the request that produced them (contract 2.9)."""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from service_core.kernel.errors import BadRequest

_SEAL_BYTES: Final = 9


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next page starts.

    Attributes:
        offset: rows before it.
        asked_at: when the first page was asked; later pages resolve relative ranges at that instant,
            so a walk over midnight stays one walk.
    """

    offset: int
    asked_at: datetime


def binding(*parts: Any) -> bytes:
    """A digest of everything a cursor is bound to: the workspace and the request without its cursor."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).digest()


def seal(cursor: Cursor, bound_to: bytes) -> str:
    """The opaque form. It holds no secret: the seal tells a damaged or borrowed cursor, not a forged one."""
    at = int(cursor.asked_at.timestamp() * 1000)
    payload = json.dumps({"o": cursor.offset, "t": at}, separators=(",", ":")).encode()
    return _encoded(_seal(payload, bound_to) + payload)


def unseal(token: str, bound_to: bytes) -> Cursor:
    """Read a cursor.

    Raises:
        BadRequest: ``invalid_cursor``, when it is damaged or belongs to another request.
    """
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _invalid() from None
    payload = raw[_SEAL_BYTES:]
    if raw[:_SEAL_BYTES] != _seal(payload, bound_to) or _encoded(raw) != token:
        raise _invalid()
    fields = json.loads(payload)
    return Cursor(fields["o"], datetime.fromtimestamp(fields["t"] / 1000, UTC))


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _seal(payload: bytes, bound_to: bytes) -> bytes:
    return hashlib.blake2b(payload, key=bound_to, digest_size=_SEAL_BYTES).digest()


def _invalid() -> BadRequest:
    return BadRequest("The cursor is damaged or belongs to another request", "invalid_cursor", field="cursor")
