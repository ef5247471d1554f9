"""Load on an ingest host: so many keep-alive connections, each sends its next event when answered.

Usage: ``python ingest_load.py HOST:PORT SECONDS CONNECTIONS KEY[,KEY...]``; prints one JSON object.
"""

import asyncio
import json
import sys
import time
import uuid

import uvloop

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


def request(key: str, number: int, run: str) -> bytes:
    """One event of about 600 bytes with an id of its own."""
    event = {
        "event": "purchase",
        "user_id": f"u_{number % 5000}",
        "anonymous_id": f"anon_{number % 9000:08x}",
        "event_id": f"{run}-{number}",
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
    """Sends, waits for the whole answer, sends again."""

    def __init__(self, load: "Load") -> None:
        self.load = load
        self.received = b""
        self.sent_at = 0.0

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.sent_at = time.perf_counter()
        self.transport.write(self.load.next())

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or 0)
        if len(body) < length:
            return
        self.received = b""
        self.load.answered(head[9:12], body, time.perf_counter() - self.sent_at)
        if self.load.running:
            self.send()
        else:
            self.transport.close()

    def connection_lost(self, exc) -> None:
        self.load.ended(self)


class Load:
    """What was asked and what came back."""

    def __init__(self, keys: list[str]) -> None:
        self.keys = keys
        self.run = uuid.uuid4().hex[:12]
        self.number = 0
        self.running = True
        self.times: list[float] = []
        self.statuses: dict[str, int] = {}
        self.refused = 0
        self.open = 0
        self.over = asyncio.Event()

    def next(self) -> bytes:
        self.number += 1
        return request(self.keys[self.number % len(self.keys)], self.number, self.run)

    def answered(self, status: bytes, body: bytes, took: float) -> None:
        self.times.append(took)
        self.statuses[status.decode()] = self.statuses.get(status.decode(), 0) + 1
        self.refused += b'"success":true' not in body

    def ended(self, _connection: Connection) -> None:
        self.open -= 1
        if not self.open:
            self.over.set()


async def main(address: str, seconds: float, connections: int, keys: list[str]) -> dict[str, object]:
    loop = asyncio.get_running_loop()
    load = Load(keys)
    load.open = connections
    host, _, port = address.rpartition(":")
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
        "statuses": load.statuses,
        "not_accepted": load.refused,
    }


if __name__ == "__main__":
    where, length, number, names = sys.argv[1:]
    sys.stdout.write(json.dumps(uvloop.run(main(where, float(length), int(number), names.split(",")))) + "\n")
