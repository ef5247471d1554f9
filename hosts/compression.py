"""Compresses answers, and answers 304 where the caller has the current content already.

Streams are compressed piece by piece, so that a long export needs no memory.
"""

import asyncio
import hashlib
import sys
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Protocol

import brotli  # type: ignore[import-untyped] # it has no types

from hosts.asgi import App, Message, Receive, Scope, Send

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIN_BYTES: Final = 1_000
"""Smaller answers are sent as they are."""

_THREAD_BYTES: Final = 100_000
"""A piece of this size or more is compressed in a thread, so that other requests need not wait."""

_COMPRESSIBLE_TYPES: Final = frozenset(
    {
        b"application/json",
        b"application/vnd.apache.arrow.stream",
        b"application/x-ndjson",
        b"application/manifest+json",
        b"application/javascript",
        b"application/xml",
        b"image/svg+xml",
    }
)
_NOT_MODIFIED_HEADERS: Final = frozenset(
    {
        b"cache-control",
        b"etag",
        b"vary",
        b"access-control-allow-origin",
        b"access-control-expose-headers",
        b"x-ratelimit-limit",
        b"x-ratelimit-remaining",
        b"x-ratelimit-degraded",
        b"x-request-id",
        b"content-security-policy",
    }
)
"""Headers of a 304: what describes the content stands in the copy that the caller has."""

_OK: Final = 200
_NOT_MODIFIED: Final = 304
_BODILESS_STATUSES: Final = frozenset({204, 206, 304})


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


class _BrotliCompressor:
    def __init__(self) -> None:
        self._compressor: Any = brotli.Compressor(quality=4)

    def compress(self, data: bytes) -> bytes:
        return bytes(self._compressor.process(data))

    def flush(self) -> bytes:
        return bytes(self._compressor.finish())


_COMPRESSORS: Final[dict[str, Callable[[], _Compressor]]] = {
    "zstd": lambda: zstd.ZstdCompressor(level=3),
    "br": _BrotliCompressor,
    "gzip": lambda: zlib.compressobj(6, zlib.DEFLATED, 31),
}
"""Encodings by preference, where a caller likes several equally."""


def compress_responses(app: App, *, has_etag: Callable[[str], bool] = lambda _: False) -> App:
    """Returns ``app`` with its answers compressed as callers accept it.

    Args:
        app: the application.
        has_etag: whether answers of a path get a strong ``ETag``, and 304 where the caller names it.
    """

    async def run_and_compress(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        accepted = b",".join(value for name, value in scope["headers"] if name == b"accept-encoding")
        known = b",".join(value for name, value in scope["headers"] if name == b"if-none-match")
        reads = scope["method"] in {"GET", "HEAD"}
        response = _CompressedResponse(
            send,
            choose_encoding(accepted),
            known if reads else b"",
            sends_body=scope["method"] != "HEAD",
            adds_etag=reads and has_etag(scope["path"]),
        )
        await app(scope, receive, response.send)

    return run_and_compress


@lru_cache(maxsize=256)
def choose_encoding(accept_encoding: bytes) -> str | None:
    """Returns the encoding that a caller prefers of those that are known; None for no compression."""
    weights: dict[str, float] = {}
    for item in accept_encoding.decode("latin-1").lower().split(","):
        name, _, parameter = item.partition(";")
        weight = parameter.replace(" ", "").removeprefix("q=")
        try:
            weights[name.strip()] = float(weight) if weight else 1.0
        except ValueError:
            continue
    best = max(_COMPRESSORS, key=lambda name: weights.get(name, 0.0))
    return best if weights.get(best, 0.0) > 0 else None


class _CompressedResponse:
    """One answer on its way to the caller."""

    def __init__(
        self, send: Send, encoding: str | None, known_etags: bytes, *, sends_body: bool, adds_etag: bool
    ) -> None:
        self._send = send
        self._encoding = encoding
        self._known_etags = known_etags
        self._sends_body = sends_body
        self._adds_etag = adds_etag
        self._start: Message | None = None
        self._compressor: _Compressor | None = None
        self._is_finished = False

    async def send(self, message: Message) -> None:
        """Sends a message of the application; the beginning waits for the first piece of the body."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        if message["type"] != "http.response.body" or self._is_finished:
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self._start is not None:
            start, self._start = self._start, None
            more = more and _content_length(start) != len(body)  # a framework may send the end apart
            self._choose_encoding_and_set_headers(start, body, more=more)
            await self._send(start)
            if start["status"] == _NOT_MODIFIED:
                body, more = b"", False
        self._is_finished = not more
        if self._compressor is not None:
            body = await _compress_piece(self._compressor, body, more=more)
            if more and not body:
                return
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    def _choose_encoding_and_set_headers(self, start: Message, body: bytes, *, more: bool) -> None:
        """Decides on compression and 304, and changes the headers accordingly."""
        headers = [(name.lower(), value) for name, value in start.get("headers", ())]
        present = dict(headers)
        media_type = present.get(b"content-type", b"").partition(b";")[0].strip().lower()
        is_text = media_type.startswith(b"text/") or media_type in _COMPRESSIBLE_TYPES
        is_event_stream = media_type == b"text/event-stream"  # a compressor would hold events back
        if (
            not is_text
            or is_event_stream
            or b"content-encoding" in present
            or start["status"] in _BODILESS_STATUSES
        ):
            return
        is_known = False
        encoding = self._encoding if self._sends_body and (more or len(body) > MIN_BYTES) else None
        if self._adds_etag and start["status"] == _OK and not more and b"etag" not in present and body:
            tag = hashlib.sha256(body).hexdigest()[:24]
            headers.append((b"etag", f'"{tag}{f"-{encoding}" if encoding else ""}"'.encode()))
            is_known = tag.encode() in self._known_etags
        varies_by = present.get(b"vary", b"")
        if b"accept-encoding" not in varies_by.lower():
            headers = [header for header in headers if header[0] != b"vary"]
            headers.append((b"vary", b", ".join(filter(None, (varies_by, b"Accept-Encoding")))))
        if is_known:
            start["status"] = _NOT_MODIFIED
            headers = [header for header in headers if header[0] in _NOT_MODIFIED_HEADERS]
        elif encoding is not None:
            self._compressor = _COMPRESSORS[encoding]()
            headers = [header for header in headers if header[0] != b"content-length"]
            headers.append((b"content-encoding", encoding.encode()))
        start["headers"] = headers


def _content_length(start: Message) -> int | None:
    for name, value in start.get("headers", ()):
        if name.lower() == b"content-length":
            return int(value)
    return None


async def _compress_piece(compressor: _Compressor, body: bytes, *, more: bool) -> bytes:
    def compress() -> bytes:
        piece = compressor.compress(body) if body else b""
        return piece if more else piece + compressor.flush()

    return await asyncio.to_thread(compress) if len(body) >= _THREAD_BYTES else compress()
