"""Pages: a window by offset, and opaque cursors bound to the request that produced them (contract 2.9)."""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from service_core.kernel.clock import epoch_milliseconds
from service_core.kernel.errors import BadRequest

_CHECKSUM_BYTES: Final = 9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OffsetCursor:
    """Where the next page starts.

    Attributes:
        offset: rows before it.
        asked_at: when the first page was asked; later pages resolve relative ranges at that instant,
            so a walk over midnight stays one walk.
    """

    offset: int
    first_requested_at: datetime


@dataclass(frozen=True, slots=True)
class KeysetCursor:
    """The last row of a page of a list that is newest first; the next page starts after it.

    Attributes:
        made_at: when the row was made, in whole milliseconds.
        id: of the row; rows of one instant are in its order.
    """

    created_at: datetime
    id: UUID


def cursor_scope_digest(*parts: Any) -> bytes:
    """A digest of everything a cursor is bound to: the workspace and the request without its cursor."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).digest()


def encode_offset_cursor(cursor: OffsetCursor, scope_digest: bytes) -> str:
    """The opaque form. It holds no secret: the seal tells a damaged or borrowed cursor, not a forged one."""
    return _encode_fields(
        {"o": cursor.offset, "t": epoch_milliseconds(cursor.first_requested_at)}, scope_digest
    )


def encode_keyset_cursor(cursor: KeysetCursor, scope_digest: bytes) -> str:
    """The opaque form of a mark, as of a cursor."""
    return _encode_fields({"i": cursor.id.hex, "t": epoch_milliseconds(cursor.created_at)}, scope_digest)


def decode_offset_cursor(token: str, scope_digest: bytes) -> OffsetCursor:
    """Read a cursor.

    Raises:
        BadRequest: ``invalid_cursor``, when it is damaged or belongs to another request.
    """
    try:
        fields = _decode_fields(token, scope_digest)
        return OffsetCursor(fields["o"], _from_epoch_milliseconds(fields["t"]))
    except KeyError:  # of a release that paged this list in another way
        raise _invalid_cursor_error() from None


def decode_keyset_cursor(token: str, scope_digest: bytes) -> KeysetCursor:
    """Read a mark.

    Raises:
        BadRequest: ``invalid_cursor``, as of `unseal`.
    """
    try:
        fields = _decode_fields(token, scope_digest)
        return KeysetCursor(_from_epoch_milliseconds(fields["t"]), UUID(fields["i"]))
    except KeyError:
        raise _invalid_cursor_error() from None


def _encode_fields(fields: dict[str, Any], scope_digest: bytes) -> str:
    payload = json.dumps(fields, separators=(",", ":")).encode()
    return _encode_base64url(_checksum(payload, scope_digest) + payload)


def _decode_fields(token: str, scope_digest: bytes) -> dict[str, Any]:
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _invalid_cursor_error() from None
    payload = raw[_CHECKSUM_BYTES:]
    if raw[:_CHECKSUM_BYTES] != _checksum(payload, scope_digest) or _encode_base64url(raw) != token:
        raise _invalid_cursor_error()
    fields: dict[str, Any] = json.loads(payload)
    return fields


def _from_epoch_milliseconds(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _encode_base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _checksum(payload: bytes, scope_digest: bytes) -> bytes:
    return hashlib.blake2b(payload, key=scope_digest, digest_size=_CHECKSUM_BYTES).digest()


def _invalid_cursor_error() -> BadRequest:
    return BadRequest("The cursor is damaged or belongs to another request", "invalid_cursor", field="cursor")
