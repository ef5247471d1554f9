"""Measures reads of a year in PostgreSQL as CPU time of the server, and the bytes of an event on disk.

    python -m tests.bench.postgresql --folder /tmp/bench

Two million events of a third of a million persons, generated as in `identity`, are written by DuckDB and copied into
a server that is started for this and kept in the folder.
"""

import argparse
import asyncio
import os
import pwd
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import duckdb
import psycopg
from rich.console import Console
from rich.table import Table

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.schema.tables import EVENTS, ID_NUMBERS
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.testing.postgres_server import NOT_DURABLE, PostgresServer, find_server_binaries
from tests.bench import identity
from tests.bench.generated_events import generate_events
from tests.bench.reads import END, make_scan, read_benchmarks

SESSIONS: Final = 400_000
PERSONS: Final = 333_333
_TICK_MS: Final = 1000 / os.sysconf("SC_CLK_TCK")


@contextmanager
def running_server(folder: Path) -> Iterator[str]:
    """Yields the address of a server with its data in a folder."""
    binaries = find_server_binaries()
    assert binaries is not None, "PostgreSQL is not installed"
    folder.mkdir(exist_ok=True)
    if os.geteuid() == 0:  # it refuses to run as root
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    server = PostgresServer(binaries, folder, shared_buffers="1GB", max_wal_size="8GB", **NOT_DURABLE)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


async def fill_store(store: SqlEventStore, url: str, folder: Path) -> None:
    """Inserts the events and run maintenance."""
    source = folder / "source.db"
    if not source.exists():
        written = identity.open_store(source)
        await written.start()
        await generate_events(
            written,
            SESSIONS * 5,
            END,
            identity.session_expression(SESSIONS),
            identity.event_expressions(PERSONS),
        )
        await written.aclose()
    with duckdb.connect(str(source), read_only=True) as found, psycopg.connect(url, autocommit=True) as to:
        for table in (ID_NUMBERS, EVENTS):
            names = ", ".join(table.columns.keys())
            file = folder / f"{table.name}.csv"
            found.execute(f"COPY (SELECT {names} FROM {table.name}) TO '{file}' (HEADER false)")
            with to.cursor().copy(f"COPY {table.name} ({names}) FROM STDIN (FORMAT csv)") as copy:
                copy.write(file.read_bytes())
            file.unlink()
        to.execute("SELECT setval('id_no', (SELECT max(number) FROM id_numbers))")
        to.execute("SELECT setval('session_no', (SELECT max(session_no) FROM events))")
        await store.rebuild()
        await store.maintain()
        to.execute("VACUUM")


def parent_pid(process: int) -> int:
    """Returns the parent of a process."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def cpu_milliseconds(server: int) -> float:
    """Returns the CPU milliseconds of a server and all its child processes."""
    running = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    times = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in (server, *running)]
    ended = sum(map(int, times[0][13:15]))
    return _TICK_MS * (ended + sum(int(one) for fields in times for one in fields[11:13]))


async def measure_cpu(server: int, work: Awaitable[Any]) -> float:
    """Returns the CPU milliseconds that a server spends on an awaitable."""
    started = cpu_milliseconds(server)
    await work
    return cpu_milliseconds(server) - started


async def main(folder: Path, rounds: int) -> None:
    """Generate missing events and print the figures."""
    console = Console(width=100)
    with running_server(folder / "server") as url, psycopg.connect(url, autocommit=True) as asking:
        store = collect_plugins_into_registry().open_adapter(
            "events", f"{url}?timeout_seconds=300", base_folder=folder
        )
        await store.start()
        if await store.first_and_last_event_time(make_scan(1).workspace_id) is None:
            await fill_store(store, url, folder)
        server = parent_pid(asking.info.backend_pid)
        table = Table("question", "30 days", "365 days")
        for short, long in zip(read_benchmarks(30), read_benchmarks(365), strict=True):
            took: list[list[float]] = [[], []]
            for _ in range(rounds):
                for times, question, days in zip(took, (short, long), (30, 365), strict=True):
                    times.append(await measure_cpu(server, question.read(store, make_scan(days))))
            table.add_row(short.name, *(f"{median(times):.0f} ms" for times in took))
        console.print(table)
        for name in (
            "events",
            "id_numbers",
            "sessions",
            "visitor_owners",
            "visitor_id_pairs",
            "touch_candidates",
        ):
            size = f"SELECT pg_table_size('{name}'), pg_indexes_size('{name}')"
            rows, indexes = asking.execute(size).fetchone() or (0, 0)
            console.print(
                f"{name}: {rows / SESSIONS / 5:.0f} bytes for an event, indexes {indexes / SESSIONS / 5:.0f}"
            )
        await store.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(given.folder, given.rounds))
