"""`GET /t.js`: the tracking script, joined from the files in ``script`` and cached.

It is written to be read. What is sent leaves out lines that only comment, and the indentation: no text of the
script goes over several lines.
"""

import gzip
import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import Final, NamedTuple

from hosts.asgi import Scope, Send

PATH: Final = "/t.js"
PARTS: Final = ("settings", "cookies", "visit", "sending", "events", "pixels", "container", "start")
"""In the order they run; they share one scope."""

_HEADERS: Final = (
    (b"content-type", b"text/javascript; charset=utf-8"),
    (b"cache-control", b"public, max-age=3600"),
    (b"vary", b"Accept-Encoding"),
    (b"access-control-allow-origin", b"*"),
    (b"cross-origin-resource-policy", b"cross-origin"),
    (b"x-content-type-options", b"nosniff"),
)


class _CachedScript(NamedTuple):
    tag: bytes
    plain: bytes
    compressed: bytes


async def send_tracker_script_with_etag_and_gzip(scope: Scope, send: Send) -> None:
    """Answers a request for the tracking script."""
    headers = dict(scope["headers"])
    script, method = _cached_script_with_etag_and_gzip(), scope["method"]
    status, body, further = 200, script.plain, [(b"etag", script.tag)]
    if method not in {"GET", "HEAD"}:
        status, body, further = 405, b"", [(b"allow", b"GET, HEAD")]
    elif script.tag in headers.get(b"if-none-match", b""):
        status, body = 304, b""
    elif b"gzip" in headers.get(b"accept-encoding", b""):
        body = script.compressed
        further.append((b"content-encoding", b"gzip"))
    if status != 304:  # noqa: PLR2004 - it has no body to tell the length of
        further.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": status, "headers": [*_HEADERS, *further]})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else body})


def build_tracker_script_without_comments() -> str:
    """Returns the tracking script."""
    folder = files("hosts.ingest") / "script"
    lines = [line.strip() for part in PARTS for line in (folder / f"{part}.js").read_text().splitlines()]
    code = "\n".join(line for line in lines if line and not line.startswith("//"))
    return f'(() => {{\n"use strict";\n{code}\n}})();\n'


@lru_cache(maxsize=1)
def _cached_script_with_etag_and_gzip() -> _CachedScript:
    """Returns the script with its compressed form, built at the first request."""
    plain = build_tracker_script_without_comments().encode()
    tag = f'"{hashlib.sha256(plain).hexdigest()[:16]}"'.encode()
    return _CachedScript(tag, plain, gzip.compress(plain, mtime=0))
