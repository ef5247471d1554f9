"""A request's body, read with bounds: its size, and what is kept of it in memory."""

from typing import Final

from hosts.guard import Message, Receive

DRAINED_AT_MOST: Final = 16_000_000
"""Bytes read and dropped of a body that is too large: a client that still sends never reads the 413."""

BODY_SECONDS: Final = 10.0
"""How long a body may take to arrive."""


class ClientGone(Exception):
    """The client left; nobody reads an answer."""


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """The body, or None when it is longer than ``limit`` bytes.

    Raises:
        ClientGone: the client left.
    """
    message = await receive()
    body: bytes = _part(message)
    if message.get("more_body", False):
        return await _rest(receive, body, limit)
    return body if len(body) <= limit else None


async def _rest(receive: Receive, first: bytes, limit: int) -> bytes | None:
    parts, size, more = [first], len(first), True
    while more and size <= DRAINED_AT_MOST:
        message = await receive()
        part = _part(message)
        size += len(part)
        more = message.get("more_body", False)
        if size <= limit:
            parts.append(part)
        else:
            parts.clear()
    return b"".join(parts) if size <= limit else None


def _part(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    return body
