"""Compares exports of a million events with the fastest bounded-memory exports of the engine itself.

``python -m tests.bench.exports [rows] [days]`` prints seconds, rows per second, the ratio to the reference and the
peak memory. Every method runs in its own process over the same file; the fastest of three runs counts. The
references write the same rows and columns and leave money, times and JSON as the engine has them.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import UUID

import duckdb
import polars as pl

from hosts.worker.export_formats import create_renderer
from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.duckdb.backend import DuckDbBackend
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.settings import DuckDbSettings
from plugins.storage_local.adapter import LocalStorage
from service_core.access.models import Workspace
from service_core.analytics.query.catalog import Catalog
from service_core.delivery.exports.export_rows import ExportRows
from service_core.delivery.exports.export_writer import ExportWriter
from service_core.delivery.exports.models import Export, ExportFormat, ExportType
from service_core.ingestion.models import WIRE_COLUMNS, Event
from service_core.testing.memory.exchange_rates import converter_without_rates

WORKSPACE = UUID(int=7)
START = datetime(2026, 1, 1, tzinfo=UTC)
MEMORY = "256MB"
BATCH = 20_000
RUNS = 3


def settings(folder: Path) -> DuckDbSettings:
    return DuckDbSettings(url="duckdb:///events.db", path=folder / "events.db", memory_limit=MEMORY)


def make_event(random: Random, number: int, seconds: float) -> Event:
    at = START + timedelta(seconds=seconds * number)
    visitor = f"visitor-{random.randrange(200_000):06}"
    bought = random.random() < 0.03
    path = f"/shop/{random.randrange(500)}"
    return Event(
        event_id=f"{random.getrandbits(128):032x}",
        event_name="purchase" if bought else "page_view",
        timestamp=at,
        received_at=at + timedelta(milliseconds=80),
        visitor_id=visitor,
        anonymous_id=visitor,
        session_id=f"{visitor}-{number // 50_000}",
        source="browser",
        attribution_source="google",
        attribution_medium="cpc",
        channel="paid_search",
        utm_source="google",
        utm_medium="cpc",
        utm_campaign=f"campaign-{random.randrange(40)}",
        gclid=f"{random.getrandbits(96):024x}",
        page_url=f"https://shop.example{path}?utm_source=google&n={number}",
        page_path=path,
        page_title=f"Shoes for {random.randrange(500)} days",
        referrer="https://www.google.com/",
        referrer_host="www.google.com",
        landing_page=path,
        revenue=random.randrange(50_000) if bought else None,
        currency="USD" if bought else None,
        order_id=f"order-{number}" if bought else None,
        device_type="desktop",
        browser="Chrome",
        os="Windows",
        country="US",
        city="Springfield",
        event_data={"plan": "pro", "price": random.randrange(100) / 10, "tags": ["a", "b"]},
        workspace_id=WORKSPACE,
        seq=number + 1,
    )


async def fill_store(folder: Path, rows: int, days: int) -> None:
    random, seconds = Random(1), days * 86_400 / rows
    store = SqlEventStore(DuckDbBackend(settings(folder)))
    await store.start()
    for first in range(0, rows, BATCH):
        await store.append([make_event(random, n, seconds) for n in range(first, min(first + BATCH, rows))])
    await store.maintain()
    await store.aclose()


class WorkspaceDirectory:
    """The only workspace of the benchmark."""

    def generation(self) -> int:
        return 1

    async def workspaces(self) -> list[Workspace]:
        facts = {
            "name": "Shop",
            "domain": None,
            "timezone": "UTC",
            "currency": "USD",
            "plan": "x",
            "active": True,
        }
        return [Workspace(id=WORKSPACE, public_id="k3Jx9QmZ2aPr", created_at=START, secret=b"s", **facts)]


async def export_with_service(folder: Path, form: ExportFormat, days: int) -> int:
    from service_core.access.workspace_cache import WorkspaceCache  # noqa: PLC0415 - next to what needs it

    store, storage = SqlEventStore(DuckDbBackend(settings(folder))), LocalStorage(folder / "out")
    await store.start()
    await storage.start()
    contents = ExportRows(store, store, converter_without_rates(store), store, None, None, Catalog())
    export = Export(
        UUID(int=1),
        WORKSPACE,
        UUID(int=2),
        ExportType.EVENTS,
        form,
        "2026-01-01",
        str((START + timedelta(days)).date()),
        START,
    )
    rows, _ = await ExportWriter(
        storage, WorkspaceCache(WorkspaceDirectory()), contents, create_renderer
    ).write_file_of_export(export)
    await store.aclose()
    return rows


def open_duckdb(folder: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(str(folder / "events.db"), config={"memory_limit": MEMORY})


NAMES = ", ".join(f'"{EVENTS.c[name].name}"' for name in WIRE_COLUMNS)


def export_in_slices(folder: Path, form: ExportFormat, days: int) -> int:
    """Exports sorted rows, a week at a time, through data frames without formatting."""
    rows, end = 0, START + timedelta(days=days + 1)
    with open_duckdb(folder) as connection, (folder / f"slices.{form}").open("wb") as file:
        while end > START:
            begin = end - timedelta(days=7)
            found = connection.sql(
                f"SELECT {NAMES} FROM events WHERE workspace_id = $1 AND NOT is_bot AND timestamp >= $2 AND timestamp < $3 "
                "ORDER BY timestamp DESC, seq DESC",
                params=[WORKSPACE, begin.replace(tzinfo=None), end.replace(tzinfo=None)],
            )
            frame = pl.DataFrame(found)
            rows, end = rows + len(frame), begin
            frame.write_csv(file, include_header=False) if form is ExportFormat.CSV else frame.write_ndjson(
                file
            )
    return rows


def export_with_copy(folder: Path, form: ExportFormat, days: int) -> int:
    """Exports sorted rows, a week at a time, by the engine alone; the parts are concatenated."""
    kind, rows, end = "csv" if form is ExportFormat.CSV else "json", 0, START + timedelta(days=days + 1)
    part, whole = folder / "part", folder / f"copied.{form}"
    with open_duckdb(folder) as connection, whole.open("wb") as file:
        while end > START:
            begin = end - timedelta(days=7)
            where = f"timestamp >= '{begin:%Y-%m-%d}' AND timestamp < '{end:%Y-%m-%d}' AND NOT is_bot"
            query = f"SELECT {NAMES} FROM events WHERE workspace_id = '{WORKSPACE}' AND {where}"
            done = connection.execute(
                f"COPY ({query} ORDER BY timestamp DESC, seq DESC) TO '{part}' (FORMAT {kind})"
            )
            rows, end = rows + int(done.fetchone()[0]), begin
            with part.open("rb") as written:
                shutil.copyfileobj(written, file, 1 << 20)
    return rows


EXPORT_METHODS = {
    "engine: slices of a week -> frames": export_in_slices,
    "engine: COPY, slices of a week": export_with_copy,
    "touchpoint export": lambda folder, form, days: asyncio.run(export_with_service(folder, form, days)),
}


def run_method(way: str, folder: Path, form: ExportFormat, days: int) -> None:
    start = time.perf_counter()
    rows = EXPORT_METHODS[way](folder, form, days)
    seconds = time.perf_counter() - start
    sys.stdout.write(json.dumps({"rows": rows, "seconds": seconds, "peak": peak_memory()}))


def peak_memory() -> float:
    """Returns the peak memory of this process in MB; the usual counter starts with that of the parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def measure_method(way: str, folder: Path, form: ExportFormat, days: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.exports", "--run", way, str(folder), form, str(days)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(RUNS)]
    return min(runs, key=lambda run: run["seconds"]) | {"peak": max(run["peak"] for run in runs)}


def main(rows: int = 1_000_000, days: int = 300) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        asyncio.run(fill_store(folder, rows, days))
        sys.stdout.write(
            f"{rows:,} events over {days} days, {len(WIRE_COLUMNS)} columns, engine memory {MEMORY}" + "\n"
        )
        sys.stdout.write(
            f"{'way':<40}{'format':>8}{'seconds':>9}{'rows/s':>10}{'ratio':>7}{'peak MB':>9}" + "\n"
        )
        for form in ExportFormat:
            found = {way: measure_method(way, folder, form, days) for way in EXPORT_METHODS}
            best = min(run["seconds"] for way, run in found.items() if way.startswith("engine"))
            for way, took in found.items():
                speed, ratio = took["rows"] / took["seconds"], took["seconds"] / best
                sys.stdout.write(
                    f"{way:<40}{form:>8}{took['seconds']:>9.2f}{speed:>10,.0f}{ratio:>7.2f}{took['peak']:>9.0f}"
                    "\n"
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        run_method(sys.argv[2], Path(sys.argv[3]), ExportFormat(sys.argv[4]), int(sys.argv[5]))
    else:
        main(*map(int, sys.argv[1:]))
