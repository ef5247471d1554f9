"""Reads the body of a request with a limit on its size and on memory."""

from typing import Final

from hosts.asgi import Message, Receive

MAX_DRAINED_BYTES: Final = 16_000_000
"""Bytes read and dropped of a body that is too large: a client that still sends never reads the 413."""

BODY_TIMEOUT_SECONDS: Final = 16.0
"""How long a whole body may take; `ReadTimeout` ends it up to a quarter later. A header has 10 seconds besides."""


class ClientGone(Exception):
    """The client has disconnected."""


async def read_body_or_none_if_too_long(
    receive: Receive, max_bytes: int, content_length: int | None = None
) -> bytes | None:
    """Returns the body, or None when it is longer than ``limit`` bytes.

    Args:
        receive: gives the parts.
        limit: bytes.
        length: what the request says of it. Nothing follows so many bytes, and asking a server for
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
