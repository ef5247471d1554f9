"""Measures the CPU time of an accepted event in the consumer: dequeue, enrich, append, acknowledge.

Usage: ``python -m tests.bench.ingest_consumer [--events 20000] [--write]``. Once each event begins a session, which costs
most, and once four events share one. Refuses to print when the store does not
hold what was sent, counted by SQL on the engine. With ``--write`` the table goes into `docs/figures.md`.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from hosts.asgi_runner import freeze_objects_and_raise_gc_threshold
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.worker.consumer import build_ingest_pipeline
from service_core.ingestion.models import IngestEndpoint, ReceivedEvent
from service_core.kernel.clock import system_clock
from tests.bench.figures import markdown_table, write_figures
from tests.bench.ingest import WORKSPACES, create_deployment
from tests.bench.ingest_load import build_request

PURCHASE_CENTS = 4990
"""The amount of each event that `build_request` makes, in cents."""

spent: Counter[str] = Counter()
BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/{}.0 Safari/537.36"


class TimedPort:
    """A port that measures the CPU time of its calls in all threads."""

    def __init__(self, port: object, phases: dict[str, str]) -> None:
        self._port = port
        self._phases = phases

    def __getattr__(self, name: str):
        call = getattr(self._port, name)

        async def timed(*given):
            started = time.process_time()
            try:
                return await call(*given)
            finally:
                spent[self._phases[name]] += time.process_time() - started

        return timed


class TimedPorts:
    """The ports of a deployment whose queue and event store are timed."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self.queue = TimedPort(ports.queue, {"take": "take", "acknowledge": "acknowledge"})
        self.events = TimedPort(ports.events, {"append": "append", "session_states": "sessions"})

    def __getattr__(self, name: str):
        return getattr(self._ports, name)


@asynccontextmanager
async def filled_queue(events: int, events_per_session: int = 1):
    """Yields a deployment with a number of queued events."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        config, _ = await create_deployment(Path(folder))
        settings = load_settings_with_environment(config)
        ports = Ports(settings, Path(folder), load_installed_registry_once(), system_clock)
        async with start_adapters([ports.workspace, ports.queue, ports.events, ports.devices]):
            workspaces = await ports.workspace.credentials.list_workspaces()
            sessions = (number // events_per_session for number in range(events))
            arrivals = [
                make_arrival(workspaces[session % WORKSPACES].id, number, session)
                for number, session in enumerate(sessions)
            ]
            for start in range(0, events, 5_000):
                await asyncio.gather(*map(ports.queue.offer, arrivals[start : start + 5_000]))
            yield ports, settings


def make_arrival(workspace_id, number: int, session: int) -> ReceivedEvent:
    body = build_request("", session).partition(b"\r\n\r\n")[2]
    agent = BROWSER.format(session % 40 + 100)
    return ReceivedEvent(
        workspace_id, workspace_id, IngestEndpoint.TRACK, f"e{number}", True, datetime.now(UTC), body, agent,
        "203.0.113.7", {},
    )  # fmt: skip


class Measurement(NamedTuple):
    """CPU milliseconds of an event by phase, and how many events a second were moved."""

    cost_by_phase: dict[str, float]
    per_second: float


async def main(events: int, events_per_session: int = 1) -> Measurement:
    """Measures the way of some events from the queue into the store."""
    spent.clear()
    async with filled_queue(events, events_per_session) as (ports, settings):
        pipeline = build_ingest_pipeline(TimedPorts(ports), settings)
        ports.devices.parse(BROWSER)  # its patterns are compiled once in the life of a process, and the
        ports.domains.registrable_domain("shop.example")  # list of public suffixes is read once
        freeze_objects_and_raise_gc_threshold()  # as the consumer process does
        began, started, moved = time.perf_counter(), time.process_time(), 0
        while count := await pipeline.process_batch():
            moved += count
        spent["enrich"] = time.process_time() - started - sum(spent.values())
        took = time.perf_counter() - began
        await require_stored_purchases(ports.events, events)
    assert moved == events, f"{moved} of {events} events left the queue"
    return Measurement({phase: 1000 * seconds / moved for phase, seconds in spent.items()}, moved / took)


async def require_stored_purchases(store, events: int) -> None:
    """Requires that the store holds each event once, with its amount, its click id and its user agent.

    Raises:
        AssertionError: SQL on the engine counts otherwise.
    """
    query = """
        SELECT count(*), count(DISTINCT event_id), sum(revenue), count(*) FILTER (click_id_type = 'gclid'),
            count(*) FILTER (browser = 'Chrome'), count(DISTINCT workspace_id) FROM events
    """
    [found] = await store._engine.run_write_to_its_end(lambda writer: writer.execute_text(query))
    sent = (events, events, events * PURCHASE_CENTS, events, events, min(events, WORKSPACES))
    assert tuple(int(value or 0) for value in found) == sent, f"the store holds {found}, and {sent} was sent"


def render_rows(*measurements: Measurement) -> list[tuple[str, ...]]:
    """Returns the rows of the table, a column for each: CPU milliseconds by phase, their sum, events a second."""
    costs = [each.cost_by_phase for each in measurements]
    rows = [(phase, *(f"{cost[phase]:.3f} ms" for cost in costs)) for phase in sorted(costs[0])]
    together = ("together", *(f"{sum(cost.values()):.3f} ms" for cost in costs))
    moved = ("events a second, one process", *(f"{each.per_second:,.0f}" for each in measurements))
    return [*rows, together, moved]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--write", action="store_true", help="write the table into docs/figures.md")
    given = parser.parse_args()
    measured = [asyncio.run(main(given.events, size)) for size in (1, 4)]
    head = ("phase", "CPU of an event, a session each", "four events of a session")
    table = markdown_table(head, render_rows(*measured))
    sys.stdout.write(table + "\n")
    if given.write:
        write_figures("ingest_consumer", table)
