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

_SEAL_BYTES: Final = 9
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


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


@dataclass(frozen=True, slots=True)
class Mark:
    """The last row of a page of a list that is newest first; the next page starts after it.

    Attributes:
        made_at: when the row was made, in whole milliseconds.
        id: of the row; rows of one instant are in its order.
    """

    made_at: datetime
    id: UUID


def binding(*parts: Any) -> bytes:
    """A digest of everything a cursor is bound to: the workspace and the request without its cursor."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).digest()


def seal(cursor: Cursor, bound_to: bytes) -> str:
    """The opaque form. It holds no secret: the seal tells a damaged or borrowed cursor, not a forged one."""
    return _sealed({"o": cursor.offset, "t": epoch_milliseconds(cursor.asked_at)}, bound_to)


def seal_mark(mark: Mark, bound_to: bytes) -> str:
    """The opaque form of a mark, as of a cursor."""
    return _sealed({"i": mark.id.hex, "t": epoch_milliseconds(mark.made_at)}, bound_to)


def unseal(token: str, bound_to: bytes) -> Cursor:
    """Read a cursor.

    Raises:
        BadRequest: ``invalid_cursor``, when it is damaged or belongs to another request.
    """
    try:
        fields = _unsealed(token, bound_to)
        return Cursor(fields["o"], _instant(fields["t"]))
    except KeyError:  # of a release that paged this list in another way
        raise _invalid() from None


def unseal_mark(token: str, bound_to: bytes) -> Mark:
    """Read a mark.

    Raises:
        BadRequest: ``invalid_cursor``, as of `unseal`.
    """
    try:
        fields = _unsealed(token, bound_to)
        return Mark(_instant(fields["t"]), UUID(fields["i"]))
    except KeyError:
        raise _invalid() from None


def _sealed(fields: dict[str, Any], bound_to: bytes) -> str:
    payload = json.dumps(fields, separators=(",", ":")).encode()
    return _encoded(_seal(payload, bound_to) + payload)


def _unsealed(token: str, bound_to: bytes) -> dict[str, Any]:
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise _invalid() from None
    payload = raw[_SEAL_BYTES:]
    if raw[:_SEAL_BYTES] != _seal(payload, bound_to) or _encoded(raw) != token:
        raise _invalid()
    fields: dict[str, Any] = json.loads(payload)
    return fields


def _instant(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _seal(payload: bytes, bound_to: bytes) -> bytes:
    return hashlib.blake2b(payload, key=bound_to, digest_size=_SEAL_BYTES).digest()


def _invalid() -> BadRequest:
    return BadRequest("The cursor is damaged or belongs to another request", "invalid_cursor", field="cursor")
