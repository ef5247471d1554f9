"""Measures the CPU time of an event by the size of its request: `/track` and browser batches, without a socket.

Usage: ``python -m tests.bench.ingest_batch [--rounds 5] [--events 4000]``
"""

import argparse
import asyncio
import gc
import json
import sys
import tempfile
import time
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import uvloop

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.ingest.run import create_ingest_host_app
from service_core.access.api_keys import create_workspace_with_keys
from service_core.kernel.clock import system_clock
from tests.bench.ingest_load import PROPERTIES

SIZES = (1, 5, 20, 100, 400)
"""400 of these events make a body of nearly 256,000 bytes."""
SENDERS = 64
WORKSPACES = 24
"""Each may send 1,000 events a second."""
AGENT = b"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"


def make_event(number: int) -> dict:
    return {
        "event": "purchase", "user_id": f"u_{number % 5000}", "visitor_id": f"anon_{number % 9000:08x}",
        "event_id": str(uuid4()), "timestamp": int(time.time() * 1000), "properties": PROPERTIES,
        "context": {"session_id": f"sess_{number % 7000}"},
    }  # fmt: skip


def single_event_requests(initialized_deployment, events: int) -> list:
    keys = [(b"x-api-key", each.write_key.secret.encode()) for each in initialized_deployment]
    return [("/track", json.dumps(make_event(n)).encode(), keys[n % len(keys)]) for n in range(events)]


def batch_requests(initialized_deployment, events: int, size: int) -> list:
    requests = []
    for number in range(events // size):
        public_id = initialized_deployment[number % len(initialized_deployment)].workspace.public_id
        body = {"workspace_id": public_id, "events": [make_event(number * size + n) for n in range(size)]}
        requests.append(("/batch", json.dumps(body).encode(), (b"origin", b"https://shop.example")))
    return requests


async def call_application(app, path: str, body: bytes, header: tuple[bytes, bytes]) -> None:
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        assert message.get("status", 200) == 200

    headers = [(b"host", b"i"), (b"user-agent", AGENT), (b"content-length", b"%d" % len(body)), header]
    scope = {"type": "http", "method": "POST", "path": path, "headers": headers, "client": ("127.0.0.1", 1)}
    await app(scope, receive, send)


async def measure_requests(app, requests: list, events: int) -> tuple[float, float]:
    """Returns the microseconds per event of the event loop and of the committing thread."""
    left = iter(requests)

    async def sender() -> None:
        for request in left:
            await call_application(app, *request)

    gc.collect()
    gc.disable()
    loop, process = time.thread_time(), time.process_time()
    await asyncio.gather(*(sender() for _ in range(SENDERS)))
    loop, process = time.thread_time() - loop, time.process_time() - process
    gc.enable()
    return 1e6 * loop / events, 1e6 * (process - loop) / events


async def main(rounds: int, events: int) -> None:
    kept = defaultdict(list)
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        (folder / "touchpoint.toml").write_text("")
        settings = load_settings_with_environment(folder / "touchpoint.toml")
        ports = Ports(settings, folder, load_installed_registry_once(), system_clock)
        async with start_adapters([ports.workspace, ports.queue]):
            initialized_deployment = [
                await create_workspace_with_keys(ports.workspace.credentials, datetime.now(UTC), name=f"W{n}")
                for n in range(WORKSPACES)
            ]
            app = create_ingest_host_app(settings, ports)
            for _ in range(rounds):
                kept["/track"].append(
                    await measure_requests(app, single_event_requests(initialized_deployment, events), events)
                )
                for size in SIZES:
                    await asyncio.sleep(1.05)  # another second, another budget
                    kept[f"{size} a body"].append(
                        await measure_requests(
                            app, batch_requests(initialized_deployment, events, size), events
                        )
                    )
    usual = sum(map(min, zip(*kept["/track"], strict=True)))
    sys.stdout.write("events        loop us  commit us  ratio\n")
    for label, found in kept.items():
        loop, commit = map(min, zip(*found, strict=True))
        sys.stdout.write(f"{label:12} {loop:8.1f} {commit:10.1f} {(loop + commit) / usual:6.2f}\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=4000)
    given = parser.parse_args()
    sys.setswitchinterval(0.0005)  # as the ingest host does
    uvloop.run(main(given.rounds, given.events))
