"""A request's body, read with bounds: size, time and what is kept of it in memory."""

import asyncio
from typing import Final

from hosts.guard import Message, Receive

PATIENCE_SECONDS: Final = 10.0
DRAINED_AT_MOST: Final = 16_000_000
"""Bytes read and dropped of a body that is too large: a client that still sends never reads the 413."""


class ClientGone(Exception):
    """The client left; nobody reads an answer."""


async def read_body(receive: Receive, limit: int) -> bytes | None:
    """The body, or None when it is longer than ``limit`` bytes.

    Raises:
        TimeoutError: the body was not complete within 10 seconds.
        ClientGone: the client left.
    """
    async with asyncio.timeout(PATIENCE_SECONDS):
        message = await _part(receive)
        body: bytes = message.get("body", b"")
        if not message.get("more_body", False):
            return body if len(body) <= limit else None
        return await _rest(receive, body, limit)


async def _rest(receive: Receive, first: bytes, limit: int) -> bytes | None:
    parts, size, more = [first], len(first), True
    while more and size <= DRAINED_AT_MOST:
        message = await _part(receive)
        part: bytes = message.get("body", b"")
        size += len(part)
        more = message.get("more_body", False)
        if size <= limit:
            parts.append(part)
        else:
            parts.clear()
    return b"".join(parts) if size <= limit else None


async def _part(receive: Receive) -> Message:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    return message
