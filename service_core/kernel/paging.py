"""Pagination cursors: opaque texts, sealed with a secret and bound to the request that produced them."""

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

from service_core.kernel.clock import epoch_milliseconds
from service_core.kernel.errors import BadRequest
from service_core.kernel.ids import encode_base64url

_SEAL_BYTES: Final = 16
_PURPOSE: Final = b"pagination cursor"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OffsetCursor:
    """Start of the next page, counted in rows.

    Attributes:
        offset: number of rows before the page.
        first_requested_at: time of the request for the first page. Later pages resolve relative date ranges at that time,
            so that all pages describe the same range.
    """

    offset: int
    first_requested_at: datetime


@dataclass(frozen=True, slots=True)
class KeysetCursor:
    """Last row of a page in a list that is sorted newest first. The next page starts after it.

    Attributes:
        created_at: creation time of the row, in whole milliseconds.
        id: id of the row; it orders rows of the same time.
    """

    created_at: datetime
    id: UUID


def cursor_scope_digest(secret: bytes, *parts: Any) -> bytes:
    """Returns the key that seals the cursors of one request.

    Args:
        secret: secret of the workspace; the key is derived from it, so that a caller cannot make a cursor.
        parts: the workspace and the request without its cursor; a cursor works with no other request.
    """
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    key = hmac.digest(secret, _PURPOSE, hashlib.sha256)
    return hmac.digest(key, canonical.encode(), hashlib.sha256)


def encode_offset_cursor(cursor: OffsetCursor, scope_digest: bytes) -> str:
    """Returns the encoded cursor, sealed: damage, forgery and use with another request are detected."""
    return _encode_fields(
        {"o": cursor.offset, "t": epoch_milliseconds(cursor.first_requested_at)}, scope_digest
    )


def encode_keyset_cursor(cursor: KeysetCursor, scope_digest: bytes) -> str:
    """Returns the encoded cursor, as `encode_offset_cursor` does."""
    return _encode_fields({"i": cursor.id.hex, "t": epoch_milliseconds(cursor.created_at)}, scope_digest)


def decode_offset_cursor(token: str, scope_digest: bytes) -> OffsetCursor:
    """Returns the cursor of a request.

    Raises:
        BadRequest: ``invalid_cursor`` if the text is damaged or belongs to another request.
    """
    try:
        fields = _decode_verified_fields(token, scope_digest)
        return OffsetCursor(fields["o"], _from_epoch_milliseconds(fields["t"]))
    except KeyError:  # a cursor of the other kind
        raise _invalid_cursor_error() from None


def decode_keyset_cursor(token: str, scope_digest: bytes) -> KeysetCursor:
    """Returns the cursor of a request.

    Raises:
        BadRequest: ``invalid_cursor``, as `decode_offset_cursor`.
    """
    try:
        fields = _decode_verified_fields(token, scope_digest)
        return KeysetCursor(_from_epoch_milliseconds(fields["t"]), UUID(fields["i"]))
    except KeyError:
        raise _invalid_cursor_error() from None


def _encode_fields(fields: dict[str, Any], scope_digest: bytes) -> str:
    payload = json.dumps(fields, separators=(",", ":")).encode()
    return encode_base64url(_seal(payload, scope_digest) + payload)


def _decode_verified_fields(token: str, scope_digest: bytes) -> dict[str, Any]:
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _invalid_cursor_error() from None
    payload = raw[_SEAL_BYTES:]
    is_sealed = hmac.compare_digest(raw[:_SEAL_BYTES], _seal(payload, scope_digest))
    if not is_sealed or encode_base64url(raw) != token:
        raise _invalid_cursor_error()
    fields: dict[str, Any] = json.loads(payload)
    return fields


def _from_epoch_milliseconds(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _seal(payload: bytes, scope_digest: bytes) -> bytes:
    return hashlib.blake2b(payload, key=scope_digest, digest_size=_SEAL_BYTES).digest()


def _invalid_cursor_error() -> BadRequest:
    return BadRequest("The cursor is damaged or belongs to another request", "invalid_cursor", field="cursor")
