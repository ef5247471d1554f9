"""Generates load on an ingest host: each keep-alive connection sends its next event when the last one is answered.

Usage: ``python ingest_load.py HOST:PORT SECONDS CONNECTIONS KEY[,KEY...]``; prints one JSON object.
"""

import asyncio
import gc
import json
import sys
import time
import uuid

import uvloop

MOST_PER_SECOND = 25_000
"""Prebuilt requests per second of load; for a faster server more are built while it runs."""

CLOSING_BRACE = ord("}")

PROPERTIES = {
    "url": "https://shop.example/products/42?utm_source=google&utm_medium=cpc&utm_campaign=spring",
    "title": "A product page with a title of usual length",
    "referrer": "https://www.google.com/",
    "value": "49.90",
    "currency": "usd",
    "order_id": "1001",
    "gclid": "Cj0KCQiA4feBhC9ARIsABp_nbXtkq2gnuBAC5",
    "items": [{"sku": "A-1", "quantity": 1, "price": 29.9}, {"sku": "B-2", "quantity": 2, "price": 10}],
}


def build_request(key: str, number: int) -> bytes:
    """Returns one event of about 600 bytes with a unique id."""
    event = {
        "event": "purchase",
        "user_id": f"u_{number % 5000}",
        "anonymous_id": f"anon_{number % 9000:08x}",
        "event_id": str(uuid.uuid4()),
        "timestamp": int(time.time() * 1000),
        "properties": PROPERTIES,
        "context": {"session_id": f"sess_{number % 7000}"},
        "ip": "203.0.113.7",
    }
    body = json.dumps(event, separators=(",", ":")).encode()
    head = (
        "POST /track HTTP/1.1\r\nHost: ingest.example\r\nContent-Type: application/json\r\n"
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36\r\n"
        f"X-API-Key: {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Connection(asyncio.Protocol):
    """Sends a request, waits for the whole response, and sends the next."""

    def __init__(self, load: "LoadGenerator") -> None:
        self.load = load
        self.received = b""
        self.sent_at = 0.0

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.sent_at = time.perf_counter()
        self.transport.write(self.load.next_request())

    def data_received(self, data: bytes) -> None:
        # Every answer of both applications is one JSON object without another inside.
        if data[-1] != CLOSING_BRACE:
            self.received += data
            return
        answer, self.received = self.received + data, b""
        self.load.record_answer(answer, time.perf_counter() - self.sent_at)
        if self.load.running:
            self.send()
        else:
            self.transport.close()

    def connection_lost(self, exc) -> None:
        self.load.connection_ended(self)


class LoadGenerator:
    """The requests that were sent and their responses."""

    def __init__(self, keys: list[str]) -> None:
        self.keys = keys
        self.number = 0
        self.ready: list[bytes] = []
        self.running = True
        self.times: list[float] = []
        self.refused: dict[str, int] = {}
        self.open = 0
        self.over = asyncio.Event()

    def prebuild_requests(self, requests: int) -> None:
        """Build requests before the measurement, while the server does not need the processors."""
        self.ready = [build_request(self.keys[n % len(self.keys)], n) for n in range(requests)]

    def next_request(self) -> bytes:
        if not self.ready:
            self.number += 1
            return build_request(self.keys[self.number % len(self.keys)], self.number)
        return self.ready.pop()

    def record_answer(self, answer: bytes, took: float) -> None:
        self.times.append(took)
        if not answer.startswith(b"HTTP/1.1 200 ") or b'"success":true' not in answer:
            status = answer[9:12].decode()
            self.refused[status] = self.refused.get(status, 0) + 1

    def connection_ended(self, _connection: Connection) -> None:
        self.open -= 1
        if not self.open:
            self.over.set()


async def main(address: str, seconds: float, connections: int, keys: list[str]) -> dict[str, object]:
    loop = asyncio.get_running_loop()
    load = LoadGenerator(keys)
    load.prebuild_requests(int(seconds * MOST_PER_SECOND))
    load.open = connections
    host, _, port = address.rpartition(":")
    gc.disable()
    started = time.perf_counter()
    for _ in range(connections):
        await loop.create_connection(lambda: Connection(load), host, int(port))
    await asyncio.sleep(seconds)
    load.running = False
    await asyncio.wait_for(load.over.wait(), 20)
    took = time.perf_counter() - started
    times = sorted(load.times)
    return {
        "events": len(times),
        "per_second": len(times) / took,
        "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[len(times) * 99 // 100] * 1000,
        "max_ms": times[-1] * 1000,
        "refused": load.refused,
    }


if __name__ == "__main__":
    where, length, number, names = sys.argv[1:]
    sys.stdout.write(json.dumps(uvloop.run(main(where, float(length), int(number), names.split(",")))) + "\n")
