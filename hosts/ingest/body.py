"""Reads the body of a request, inflated, with a limit on its size and on memory."""

import zlib
from typing import Final

from hosts.asgi import Message, Receive

MAX_DRAINED_BYTES: Final = 16_000_000
"""Bytes read and dropped of a body that is too large: a client that still sends never reads the 413."""

BODY_TIMEOUT_SECONDS: Final = 16.0
"""How long a whole body may take; `ReadTimeout` ends it up to a quarter later. A header has 10 seconds besides."""


_GZIP_WINDOW_BITS: Final = 31
_MAX_GZIP_MEMBERS: Final = 32
"""Each member costs a copy of the rest of the body: a body of empty ones would take minutes."""


class ClientGone(Exception):
    """The client has disconnected."""


class UnknownEncoding(Exception):
    """The body has a content encoding other than gzip."""


def inflate_body(body: bytes | None, encoding: str | None, max_bytes: int) -> bytes | None:
    """Returns the body without its content encoding, or None when it is longer than ``max_bytes`` then.

    Nothing past the limit is inflated. A body that is not of its encoding, or is of more than 32 parts compressed one
    by one, is returned as it is: it is no JSON.

    Args:
        body: as received; None when it was too long already.
        encoding: the ``Content-Encoding`` of the request in lower case; None without one.
        max_bytes: bytes.

    Raises:
        UnknownEncoding: the encoding is not gzip.
    """
    if encoding in {None, "", "identity"} or body is None:
        return body
    if encoding not in {"gzip", "x-gzip"}:
        raise UnknownEncoding
    inflated, rest, members = b"", body, 0
    try:
        while rest and len(inflated) <= max_bytes:
            members += 1
            if members > _MAX_GZIP_MEMBERS:
                return body
            member = zlib.decompressobj(_GZIP_WINDOW_BITS)
            inflated += member.decompress(rest, max_bytes + 1 - len(inflated))
            if not member.eof and len(inflated) <= max_bytes:
                return body
            rest = member.unused_data
    except zlib.error:
        return body
    return inflated if len(inflated) <= max_bytes else None


async def read_body_or_none_if_too_long(
    receive: Receive, max_bytes: int, content_length: int | None = None
) -> bytes | None:
    """Returns the body, or None when it is longer than ``max_bytes`` bytes.

    Args:
        receive: gives the parts.
        max_bytes: bytes.
        content_length: what the request says of it. Nothing follows so many bytes, and asking a server for
            nothing costs as much as asking it for the body.

    Raises:
        ClientGone: the client left.
    """
    message = await receive()
    body: bytes = _message_body(message)
    if message.get("more_body", False) and len(body) != content_length:
        return await _read_remaining_and_drain_excess(receive, body, max_bytes, content_length)
    return body if len(body) <= max_bytes else None


async def _read_remaining_and_drain_excess(
    receive: Receive, first_part: bytes, max_bytes: int, content_length: int | None
) -> bytes | None:
    parts, size, more = [first_part], len(first_part), True
    while more and size <= MAX_DRAINED_BYTES:
        message = await receive()
        part = _message_body(message)
        size += len(part)
        more = message.get("more_body", False) and size != content_length
        if size <= max_bytes:
            parts.append(part)
        else:
            parts.clear()
    return b"".join(parts) if size <= max_bytes else None


def _message_body(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    return body
