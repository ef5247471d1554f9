"""Recorded requests of published libraries: one file for each library, and what makes a request of it again."""

import base64
import gzip
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from service_core.testing.ingest_protocol import RecordedRequest

FOLDER = Path(__file__).parent / "recordings"
NOT_KEPT = {"host", "connection", "content-length", "accept", "accept-encoding", "pragma", "cache-control"}
"""Headers that belong to the connection."""


@dataclass(frozen=True)
class RecordedExchange:
    """A request of a library, when it came, and the status that it was answered with."""

    at: datetime
    request: RecordedRequest
    status: int

    def to_json(self):
        request = self.request
        kept = {"at": self.at.isoformat(), "method": request.method, "path": request.path}
        kept |= {"query": request.query} if request.query else {}
        return {
            **kept,
            "headers": dict(request.headers),
            **_body_to_json(request.body),
            "status": self.status,
        }

    @classmethod
    def from_json(cls, kept):
        body = kept.get("body", "").encode()
        body = base64.b64decode(kept["base64"]) if "base64" in kept else body
        body = gzip.compress(kept["gzip"].encode()) if "gzip" in kept else body
        return cls(
            datetime.fromisoformat(kept["at"]),
            RecordedRequest(kept["path"], body, kept.get("query", ""), kept["headers"], kept["method"]),
            kept["status"],
        )


@dataclass(frozen=True)
class Recording:
    """What a version of a library sent, and the time of the order that its program gave it."""

    version: str
    order_time: datetime
    exchanges: tuple[RecordedExchange, ...]

    def save(self, name):
        document = {
            "version": self.version,
            "order_time": self.order_time.isoformat(),
            "requests": [exchange.to_json() for exchange in self.exchanges],
        }
        (FOLDER / f"{name}.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def load_recording(name):
    document = json.loads((FOLDER / f"{name}.json").read_text())
    return Recording(
        document["version"],
        datetime.fromisoformat(document["order_time"]),
        tuple(map(RecordedExchange.from_json, document["requests"])),
    )


def _body_to_json(body):
    """Returns a body as text where it is text, inflated where it is compressed."""
    if not body:
        return {}
    if body.startswith(b"\x1f\x8b"):
        return {"gzip": gzip.decompress(body).decode()}
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}
