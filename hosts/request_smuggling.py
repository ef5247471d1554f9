"""Protects every application from request smuggling: a request that two servers could read differently is refused.

No server in use refuses all of these by itself. The answer closes the connection, so bytes that
follow are never read as another request. Requests for WebSocket are refused too: nothing here speaks it.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hosts.asgi import App, Message, Receive, Scope, Send
from hosts.request_ids import new_request_id

_SINGLE_HEADERS: Final = frozenset(
    {b"host", b"content-length", b"transfer-encoding", b"authorization", b"x-api-key"}
)
_HOST: Final = re.compile(
    rb"(?:(?:[A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{0,5})?"
)
_MAX_HOST_BYTES: Final = 260
_HTTP_VERSIONS: Final = frozenset({"1.1", "1.0", "2"})
_BODY: Final = b'{"error":"Malformed request"}'
_HEADERS_TOO_LARGE_STATUS: Final = 431
_HEADERS_TOO_LARGE_BODY: Final = b'{"error":"Request headers too large"}'
_STATUS_LINES: Final = {
    400: b"HTTP/1.1 400 Bad Request\r\n",
    _HEADERS_TOO_LARGE_STATUS: b"HTTP/1.1 431 Request Header Fields Too Large\r\n",
}


class ErrorResponse(NamedTuple):
    """An answer to a request that no application sees."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def to_bytes(self) -> bytes:
        """Returns the answer as a server without a parser for answers sends it."""
        lines = b"".join(b"%s: %s\r\n" % header for header in self.headers)
        return _STATUS_LINES[self.status] + lines + b"\r\n" + self.body


def header_error_response(status: int) -> ErrorResponse:
    """Returns the answer of a server to a request whose header cannot be read; it closes the connection.

    Args:
        status: what the parser suggests; anything but 431 becomes 400.
    """
    answer = _build_error_response(status)
    answer.headers.append((b"x-request-id", new_request_id()))
    return answer


def _build_error_response(status: int) -> ErrorResponse:
    too_large = status == _HEADERS_TOO_LARGE_STATUS
    body = _HEADERS_TOO_LARGE_BODY if too_large else _BODY
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"access-control-allow-origin", b"*"),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    return ErrorResponse(status if too_large else 400, headers, body)


_MALFORMED: Final = _build_error_response(400)


def reject_ambiguous_requests(app: App) -> App:
    """Returns ``app`` with ambiguous requests refused."""

    async def run_unless_ambiguous(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
        elif is_unambiguous_request(scope):
            await _run_and_refuse_if_unanswered(app, scope, receive, send)
        else:
            await send_malformed_request(scope, send)

    return run_unless_ambiguous


async def _run_and_refuse_if_unanswered(app: App, scope: Scope, receive: Receive, send: Send) -> None:
    """Runs ``app``, and refuses a request that it leaves unanswered because the body broke off.

    granian makes a 500 of its own of such a request; to a client that is gone it makes no difference.
    """
    started = False

    async def send_and_note_start(message: Message) -> None:
        nonlocal started
        started = True
        await send(message)

    await app(scope, receive, send_and_note_start)
    if not started:
        await send_malformed_request(scope, send)


async def send_malformed_request(scope: Scope, send: Send) -> None:
    """Answers an ambiguous request with 400, and closes its connection."""
    # HTTP/2 knows no connection header: a stream ends by itself.
    is_http1 = scope.get("http_version", "1.1") != "2"
    headers = _MALFORMED.headers if is_http1 else _MALFORMED.headers[:-1]
    await send({"type": "http.response.start", "status": _MALFORMED.status, "headers": headers})
    await send({"type": "http.response.body", "body": _MALFORMED.body})


def is_unambiguous_request(scope: Scope) -> bool:
    """Returns whether target, version, length, host, credential and header lines can be read in one way only."""
    headers = scope["headers"]
    once = dict(headers)
    if len(once) < len(headers) and _repeats_single_header_or_has_line_break(headers):
        return False
    if _contains_line_break(b"".join(once.values())):  # one search in all of them: this runs for every event
        return False
    length, coding = once.get(b"content-length"), once.get(b"transfer-encoding")
    if length is not None and (coding is not None or not length.isdigit()):
        return False
    if coding is not None and coding.strip().lower() != b"chunked":
        return False
    if b"upgrade" in once and b"websocket" in once[b"upgrade"].lower():
        return False
    version = scope.get("http_version", "1.1")
    is_known = version in _HTTP_VERSIONS and scope["method"] != "CONNECT" and _is_target(scope["path"])
    host = once.get(b"host")
    return is_known and (version != "1.1" if host is None else _is_host(host))


def _repeats_single_header_or_has_line_break(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Returns whether a header that may occur once is repeated, or a header value is invalid."""
    seen: set[bytes] = set()
    for name, value in headers:
        if (name in seen and name in _SINGLE_HEADERS) or _contains_line_break(value):
            return True
        seen.add(name)
    return False


def _is_target(path: str) -> bool:
    """Returns whether a request names a path, or the whole host as ``OPTIONS *`` does."""
    return path.startswith("/") or path == "*"


@lru_cache(maxsize=1024)
def _is_host(value: bytes) -> bool:
    """Returns whether a Host header names a host: frameworks fail at names with labels of over 63 characters."""
    return len(value) <= _MAX_HOST_BYTES and _HOST.fullmatch(value) is not None


def _contains_line_break(value: bytes) -> bool:
    return b"\r" in value or b"\n" in value or b"\0" in value
