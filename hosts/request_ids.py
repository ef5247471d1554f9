"""Gives every request an id, which its answer and its log lines carry."""

import re
import secrets
from contextvars import ContextVar
from itertools import count
from typing import Final

from hosts.asgi import App, Message, Receive, Scope, Send

REQUEST_ID: Final[ContextVar[str]] = ContextVar("request_id", default="")
"""Id of the request that the current task answers; empty outside of requests."""

_SHORT_TOKEN: Final = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_PROCESS_PREFIX: Final = secrets.token_hex(6)
_next_number: Final = count(secrets.randbelow(1 << 20)).__next__


def assign_request_ids(app: App) -> App:
    """Returns ``app`` with ``X-Request-Id`` on every answer: that of the caller where it is a short token, else a new one."""

    async def run_with_request_id(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        request_id = _requested_id(scope) or new_request_id()
        token = REQUEST_ID.set(request_id.decode())
        header = (b"x-request-id", request_id)

        async def send_with_request_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), header]
            await send(message)

        try:
            await app(scope, receive, send_with_request_id)
        finally:
            REQUEST_ID.reset(token)

    return run_with_request_id


def new_request_id() -> bytes:
    """Returns an id that no other request of the deployment has; it tells nothing."""
    return b"%s-%x" % (_PROCESS_PREFIX.encode(), _next_number())


def _requested_id(scope: Scope) -> bytes | None:
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            return bytes(value) if _SHORT_TOKEN.fullmatch(value) else None
    return None
