"""Measures a dashboard of nine panels on a million events: concurrently, and one after the other.

    python -m tests.bench.dashboard --folder /tmp/bench

Requests pass the API dispatcher without a socket. The engine time of each panel is measured while nothing else
runs; then all nine are requested at once. The reference figures are 0.75 s for 30 days and 5 s for 365 days.
"""

import argparse
import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any, Final
from uuid import UUID

from rich.console import Console
from rich.table import Table

from hosts.composition.compose import Service, compose
from plugins.events_sql.dialects.duckdb.compiler import DuckDialect
from plugins.events_sql.execution.query_executor import QueryExecutor
from plugins.events_sql.execution.statement_cache import statement_cache_for
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan
from service_core.access.models import Workspace
from service_core.api.http_messages import ApiRequest
from service_core.kernel.settings import IngestSettings, Settings, StorageSettings
from tests.bench.generated_events import WORKSPACE, generate_events

END: Final = datetime(2026, 7, 1, tzinfo=UTC)
NOW: Final = END + timedelta(hours=1)
EVENTS: Final = 1_000_000
SHARE: Final = 0.3
"""The share of the events that belongs to the workspace that is read."""

PEER_SECONDS: Final = {30: 0.75, 365: 5.0}
TARGET_FASTER: Final = 10


def panel_requests(days: int) -> dict[str, ApiRequest]:
    """Returns the nine requests of the dashboard."""
    first, last = END - timedelta(days=days), END - timedelta(days=1)
    dates = f"start_date={first:%Y-%m-%d}&end_date={last:%Y-%m-%d}"
    parameters = {"from": f"{first:%Y-%m-%d}", "to": f"{last:%Y-%m-%d}"}
    numbers = {
        "metrics": ["bounce_rate", "avg_session_duration", "pages_per_session"],
        "date_range": parameters,
    }
    channels = {"metrics": ["visitors", "conversions"], "dimensions": ["channel"], "date_range": parameters}
    return {
        "overview": ApiRequest("GET", "/v1/overview", dates),
        "referrers": ApiRequest("GET", "/v1/traffic", dates),
        "campaigns": ApiRequest("GET", "/v1/traffic", f"{dates}&type=campaign"),
        "pages": ApiRequest("GET", "/v1/traffic", f"{dates}&type=page"),
        "browsers": ApiRequest("GET", "/v1/devices", dates),
        "devices": ApiRequest("GET", "/v1/devices", f"{dates}&type=device"),
        "countries": ApiRequest("GET", "/v1/locations", dates),
        "engagement": ApiRequest("POST", "/v1/metrics", body=json.dumps(numbers).encode()),
        "channels": ApiRequest("POST", "/v1/query", body=json.dumps(channels).encode()),
    }


class EngineTimer:
    """Measures the time of the engine's statements."""

    def __init__(self, engine: QueryExecutor) -> None:
        self.seconds = 0.0
        self._read = engine.run_read_within_time_budget
        engine.run_read_within_time_budget = self._watched  # type: ignore[method-assign]

    async def _watched(self, work: Any) -> Any:
        return await self._read(lambda reader: work(_Statements(reader, self)))

    def ask(self, reader: Any, text: str, values: list[Any]) -> Any:
        """Runs a statement and adds its time."""
        started = time.perf_counter()
        answer = reader.execute_text(text, values)
        self.seconds += time.perf_counter() - started
        return answer


class _Statements:
    """A statement runner that measures statements, without their compilation."""

    known = statement_cache_for(DuckDialect())

    def __init__(self, reader: Any, watched: EngineTimer) -> None:
        self._reader, self._watched = reader, watched

    def execute_text(self, text: str, values: Any = None) -> Any:
        """Runs a statement given as SQL of the engine."""
        return self._watched.ask(self._reader, text, values or [])

    def fetch_rows(self, statement: Any) -> Any:
        """Compiles a statement and run it."""
        return self.execute_text(*self.known.render_from_cache(statement))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


async def send_request(service: Service, request: ApiRequest, key: str) -> float:
    """Returns the seconds of one request."""
    sent = ApiRequest(
        request.method, request.path, request.query, {"authorization": f"Bearer {key}"}, request.body
    )
    started = time.perf_counter()
    response = await service.dispatch(sent)
    assert response.status == 200, response.body
    return time.perf_counter() - started


async def compare_runs(
    service: Service, key: str, days: int, rounds: int, watch: EngineTimer, console: Console
) -> None:
    """Request each panel alone and all together, in rounds; print the medians."""
    received_request = panel_requests(days)
    alone: dict[str, list[float]] = {name: [] for name in received_request}
    inside: dict[str, list[float]] = {name: [] for name in received_request}
    bursts, work = [], []
    for _ in range(rounds):
        for name, request in received_request.items():
            watch.seconds = 0.0
            alone[name].append(await send_request(service, request, key))
            inside[name].append(watch.seconds)
        started, worked = time.perf_counter(), time.process_time()
        await asyncio.gather(*(send_request(service, request, key) for request in received_request.values()))
        bursts.append(time.perf_counter() - started)
        work.append(time.process_time() - worked)
    table = Table("panel", "alone ms", "engine ms", title=f"nine panels over {days} days")
    for name in received_request:
        table.add_row(name, f"{median(alone[name]) * 1000:.1f}", f"{median(inside[name]) * 1000:.1f}")
    engine = sum(median(values) for values in inside.values())
    burst, peer = median(bursts), PEER_SECONDS[days]
    table.add_row(
        "sum", f"{sum(map(median, alone.values())) * 1000:.1f}", f"{engine * 1000:.1f}", style="bold"
    )
    console.print(table)
    held = "" if burst <= engine else "bold red"
    console.print(
        f"burst {burst * 1000:.1f} ms = {burst / engine:.2f} x the sum of engine times (target 1), "
        f"{median(work) * 1000:.1f} ms of processor time",
        style=held,
    )
    faster = peer / burst
    held = "" if faster >= TARGET_FASTER else "bold red"
    console.print(
        f"peer {peer * 1000:.0f} ms = {faster:.1f} x the burst (target {TARGET_FASTER})\n", style=held
    )


def folder_has_store(folder: Path, name: str) -> bool:
    """Creates the folder, remove the keys of an earlier run, and returns whether the events exist already."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob("panels_workspace.db*"):
        left.unlink()
    return not (folder / name).exists()


async def main(events: int, folder: Path, rounds: int) -> None:
    """Generate missing events and print the comparison."""
    rows = int(events / SHARE)
    name = f"panels_{rows}.db"
    fresh = folder_has_store(folder, name)
    settings = Settings(
        storage=StorageSettings(
            events=f"duckdb:///{name}?threads=2&memory_limit=4GB&timeout_seconds=600",
            workspace="sqlite:///panels_workspace.db",
        ),
        ingest=IngestSettings(queue="spool:///panels_spool.db"),
    )
    console = Console()
    async with compose(settings, folder, clock=lambda: NOW) as service:
        if fresh:
            started = time.perf_counter()
            await generate_events(service.ports.events, rows, END)  # type: ignore[arg-type]
            console.print(f"{rows:,} rows written in {time.perf_counter() - started:.0f} s")
        key = await create_api_key(service)
        watch = EngineTimer(service.ports.events._engine)  # type: ignore[attr-defined]
        for days in PEER_SECONDS:
            await compare_runs(service, key, days, rounds, watch, console)


async def create_api_key(service: Service) -> str:
    owner = Workspace(
        id=UUID(WORKSPACE), public_id="panels000000", name="Panels", domain=None, timezone="UTC", currency="USD",
        plan="unlimited", active=True, created_at=NOW, secret=b"panels",
    )  # fmt: skip
    await service.ports.workspace.credentials.create_workspace(owner)
    minted = await create_named_key_clamping_rate_limit_to_plan(
        service.ports.workspace.credentials, owner, NOW, name="Panels", requested_rate_limit=1_000_000
    )
    return minted.secret


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", type=int, nargs="?", default=EVENTS)
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    asyncio.run(main(given.events, given.folder, given.rounds))
