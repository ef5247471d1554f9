"""Sends the answers of the browser routes and webhooks."""

from collections.abc import Mapping

import orjson

from hosts.asgi import Send
from service_core.ingestion.track import IngestResponse


async def send_uncached_answer(send: Send, answer: IngestResponse, extra_headers: Mapping[str, str]) -> None:
    """Sends an answer with further headers; it may not be cached."""
    body = b"" if answer.body is None else orjson.dumps(answer.body)
    written = {**extra_headers, **answer.headers, "cache-control": "no-store"}
    if body:
        written |= {"content-type": "application/json", "content-length": str(len(body))}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in written.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
