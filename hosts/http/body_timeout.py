"""Limits the time the body of a request may take as a whole, for every route of an application."""

import asyncio
from typing import Final

from hosts.asgi import App, Message, Receive, Scope, Send

_BODY: Final = b'{"error":"Request body took too long"}'
_HEADERS: Final = (
    (b"content-type", b"application/json"),
    (b"content-length", b"%d" % len(_BODY)),
    (b"access-control-allow-origin", b"*"),
    (b"cache-control", b"no-store"),
)


class _BodyTooSlow(Exception):
    """The body did not arrive in time."""


def limit_body_time(app: App, seconds: float) -> App:
    """Returns ``app`` with requests answered 408 whose body takes longer; the answer itself may take any time.

    Args:
        app: the application.
        seconds: from the end of the header to the end of the body.
    """

    async def run_with_body_deadline(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        deadline = asyncio.get_running_loop().time() + seconds
        is_complete = started = False

        async def receive_before_deadline() -> Message:
            nonlocal is_complete
            if is_complete:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise _BodyTooSlow from None
            is_complete = message["type"] != "http.request" or not message.get("more_body", False)
            return message

        async def send_and_note_start(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await app(scope, receive_before_deadline, send_and_note_start)
        except _BodyTooSlow:
            if not started:
                await _send_body_too_slow(scope, send)

    return run_with_body_deadline


async def _send_body_too_slow(scope: Scope, send: Send) -> None:
    closing = () if scope.get("http_version") == "2" else ((b"connection", b"close"),)
    await send({"type": "http.response.start", "status": 408, "headers": [*_HEADERS, *closing]})
    await send({"type": "http.response.body", "body": _BODY})
