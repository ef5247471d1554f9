"""Measures the start of `touchpoint serve`, its idle memory, the delay between ingestion and reads, `/health` and CPU.

Usage: ``python -m tests.bench.serving [--rate 500] [--seconds 20] [--write]``. Each figure is taken with the consumer as a process
of its own and, in the same run, inside the process of the API.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from hosts.cli.init import create_deployment_or_remove_settings_file
from hosts.composition.compose import compose
from hosts.composition.load_settings import load_settings_with_environment
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.kernel.clock import system_clock
from tests.bench.figures import markdown_table, write_figures

CONNECTIONS = 16
HEALTH_RATE = 50
"""Requests a second for `/health`."""

IDLE_SECONDS = 6
COUNTED_SECONDS = 60
EVERY = 25
"""One of this many events is searched until a read returns it."""


def deployment(folder: Path) -> tuple[Path, str, str]:
    """Creates a deployment and returns its settings file, a write key and a key with unlimited reads."""
    file = folder / "touchpoint.toml"
    initialized_deployment = create_deployment_or_remove_settings_file(
        file, name="Bench", timezone="UTC", currency="USD", domain=None
    )

    async def reader() -> str:
        async with compose(load_settings_with_environment(file), folder) as service:
            (workspace,) = await service.ports.workspace.credentials.list_workspaces()
            made = await create_named_key_clamping_rate_limit_to_plan(
                service.ports.workspace.credentials,
                workspace,
                system_clock(),
                name="bench",
                requested_rate_limit=10**9,
            )
            return made.secret

    return file, initialized_deployment.write_key.secret, asyncio.run(reader())


def resident_megabytes(pid: int) -> float:
    """Returns the resident megabytes of a process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20 + sum(
        resident_megabytes(int(child)) for child in children
    )


def cpu_seconds_by_process(pid: int) -> dict[str, float]:
    """Returns the CPU seconds of a serving process and its children: of ``api``, ``ingest`` and ``consumer``."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    seconds = {"api": _cpu_seconds(pid)}
    for child in children:
        command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        module = next((part for part in command if part.startswith(b"hosts.")), b"other").decode()
        seconds[module.removeprefix("hosts.")] = _cpu_seconds(int(child))
    return seconds


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_first_answer(api: str) -> None:
    while True:
        try:
            urllib.request.urlopen(f"{api}/health", timeout=5).close()
        except OSError:
            continue
        return


class Observations(NamedTuple):
    """What was seen of a service under load.

    Attributes:
        lags: seconds from the acknowledgement of each sampled event until a read showed it.
        health: seconds of each answer of `/health`.
        counted: how many events the API counts at the end.
        refused: how many reads of events were answered with an error.
    """

    lags: list[float]
    health: list[float]
    counted: int
    refused: int


class HttpClient:
    """One keep-alive connection."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.at = parts.hostname, parts.port

    async def __aenter__(self) -> Self:
        self.reader, self.writer = await asyncio.open_connection(*self.at)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()
        await self.writer.wait_closed()

    async def send_request(self, method: str, path: str, headers: dict[str, str], body: bytes = b"") -> dict:
        lines = [f"{method} {path} HTTP/1.1", "Host: bench", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        return json.loads(await self.reader.readexactly(length))


async def run_load(
    api: str, ingest: str, write_key: str, read_key: str, rate: int, seconds: int
) -> Observations:
    """Sends at a steady rate, until each sampled event and then the count of all is visible.

    One reader searches all of them: a reader for each would send hundreds of requests a second and measure its own load.
    """
    queue: asyncio.Queue[int | None] = asyncio.Queue()
    waiting: dict[str, float] = {}
    seen: list[float] = []
    health: list[float] = []
    refused: list[bool] = []

    async def sender() -> None:
        connection = await connections.enter_async_context(HttpClient(ingest))
        while (number := await queue.get()) is not None:
            sampled = number % EVERY == 0
            body = {
                "event": "sample" if sampled else "page_view",
                "anonymous_id": f"v{number}",
                "event_id": f"e{number}",
                "properties": {"url": f"https://s.example/{number % 50}"},
            }
            answer = await connection.send_request(
                "POST",
                "/track",
                {"X-API-Key": write_key, "User-Agent": "Mozilla/5.0 Firefox/140.0"},
                json.dumps(body).encode(),
            )
            assert answer["success"], answer
            if sampled:
                waiting[f"v{number}"] = time.perf_counter()

    async def reader() -> None:
        connection = await connections.enter_async_context(HttpClient(api))
        path = "/v1/events?start_date=2026-01-01&end_date=2100-01-01&limit=200&event_name=sample"
        while not sent.is_set() or waiting:
            shown = await connection.send_request("GET", path, {"Authorization": f"Bearer {read_key}"})
            now = time.perf_counter()
            refused.append("events" not in shown)
            visitors = {event["visitor_id"] for event in shown.get("events", ())}
            seen.extend(now - waiting.pop(visitor) for visitor in visitors & waiting.keys())
            await asyncio.sleep(0.05)

    async def prober() -> None:
        connection = await connections.enter_async_context(HttpClient(api))
        while not sent.is_set():
            began = time.perf_counter()
            await connection.send_request("GET", "/health", {})
            health.append(time.perf_counter() - began)
            await asyncio.sleep(1 / HEALTH_RATE)

    sent = asyncio.Event()
    async with AsyncExitStack() as connections:
        probing = asyncio.create_task(prober())
        reading = asyncio.create_task(reader())
        senders = [asyncio.create_task(sender()) for _ in range(CONNECTIONS)]
        begin = time.perf_counter()
        for number in range(rate * seconds):
            await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            queue.put_nowait(number)
        for _ in senders:
            queue.put_nowait(None)
        await asyncio.gather(*senders)
        sent.set()
        await reading
        counted = await count_when_complete(
            await connections.enter_async_context(HttpClient(api)), read_key, rate * seconds
        )
        await probing
    return Observations(seen, health, counted, sum(refused))


async def count_when_complete(connection: HttpClient, read_key: str, sent: int) -> int:
    """Returns how many events the API counts, as soon as these are all that were sent, or after a minute."""
    today = datetime.now(UTC)
    first, last = (today + timedelta(days=days) for days in (-1, 1))
    path = f"/v1/overview?start_date={first:%Y-%m-%d}&end_date={last:%Y-%m-%d}"
    deadline = time.monotonic() + COUNTED_SECONDS
    while True:
        shown = await connection.send_request("GET", path, {"Authorization": f"Bearer {read_key}"})
        counted = shown["pageviews_total"] + shown["custom_events_total"]
        if counted >= sent or time.monotonic() > deadline:
            return counted
        await asyncio.sleep(0.2)


def measure(options: list[str], rate: int, seconds: int) -> dict[str, str]:
    """Returns the figures of one fresh service, by name.

    Args:
        options: of `touchpoint serve`.
        rate: events a second.
        seconds: how long they are sent.
    """
    figures = {}
    with tempfile.TemporaryDirectory() as made:
        file, write_key, read_key = deployment(Path(made) / "data")
        command = [sys.executable, "-m", "hosts.cli", "serve", "--config", str(file), *options]
        command += ["--api", "127.0.0.1:0", "--ingest", "127.0.0.1:0"]
        begin = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            try:
                api, ingest = (process.stdout.readline().split()[1] for _ in range(2))
                wait_for_first_answer(api)
                figures["first answer after"] = f"{time.perf_counter() - begin:.2f} s"
                time.sleep(IDLE_SECONDS)
                figures["resident while idle"] = f"{resident_megabytes(process.pid):.0f} MB"
                load = partial(run_load, api, ingest, write_key, read_key, rate, seconds)
                return figures | measure_load(process.pid, load, rate * seconds)
            finally:
                process.terminate()


def measure_load(
    pid: int, load: Callable[[], Coroutine[Any, Any, Observations]], sent: int
) -> dict[str, str]:
    """Returns the figures of a service under load, by name.

    Args:
        pid: of the service.
        load: sends the events.
        sent: how many it sends.
    """
    before = cpu_seconds_by_process(pid)
    observed = asyncio.run(load())
    assert observed.counted == sent, f"{observed.counted} of {sent} acknowledged events are counted"
    lags, answers = statistics.quantiles(observed.lags, n=20), statistics.quantiles(observed.health, n=100)
    figures = {
        "counted by the API, of those sent": f"{observed.counted:,} of {sent:,}",
        "visible after, median": f"{statistics.median(observed.lags):.2f} s",
        "visible after, p95": f"{lags[18]:.2f} s",
        "reads refused": str(observed.refused),
        "/health p50": f"{1000 * answers[49]:.1f} ms",
        "/health p99": f"{1000 * answers[98]:.1f} ms",
    }
    for name, spent in cpu_seconds_by_process(pid).items():
        figures[f"CPU of {name}, an event"] = f"{1000 * (spent - before.get(name, 0)) / sent:.3f} ms"
    return figures


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rate", type=int, default=500)
    arguments.add_argument("--seconds", type=int, default=20)
    arguments.add_argument("--write", action="store_true", help="write the table into docs/figures.md")
    given = arguments.parse_args()
    apart = measure([], given.rate, given.seconds)
    together = measure(["--single-process"], given.rate, given.seconds)
    rows = [
        (name, apart.get(name, ""), together.get(name, "")) for name in dict.fromkeys([*apart, *together])
    ]
    title = f"{given.rate} events a second for {given.seconds} s"
    table = markdown_table((title, "consumer apart", "`--single-process`"), rows)
    sys.stdout.write(table + "\n")
    if given.write:
        write_figures("serving", table)


if __name__ == "__main__":
    main()
