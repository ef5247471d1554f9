"""Measures reads of persons with a million linked ones, and the cost of linking.

    python -m tests.bench.identity --folder /tmp/bench

Two workspaces have the same six million events. In one each of 1.1 million visitors is linked to one of a million
users, a fifth of them also by another id; in the other all visitors are anonymous. Reads run on the store in both,
and as hand-written SQL. Batches and revocations are written into a copy of the file.
"""

import argparse
import asyncio
import shutil
import time
from collections.abc import Awaitable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

from rich.console import Console
from rich.table import Table

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.duckdb.backend import DuckDbBackend
from plugins.events_sql.settings import DuckDbSettings
from service_core.plugin import Event, PersonActivityQuery, QueryScope
from service_core.testing.event_builder import EventBuilder
from tests.bench.generated_events import WORKSPACE, YEAR_SECONDS, generate_events
from tests.bench.reads import END, make_scan, read_benchmarks

PERSONS: Final = 1_000_000
VISITORS: Final = 1_100_000
SESSIONS: Final = 1_200_000
"""Per workspace; with five events each."""

UNLINKED: Final = UUID(int=2)
PERSON_READS: Final = (
    "persons",
    "funnel of 3 steps",
    "weekly retention",
    "last non-direct touch",
    "page of persons",
)
BATCH: Final = 2_000

_DAY: Final = 86_400


def session_expression(of_a_workspace: int) -> str:
    """Returns the SQL of a session number: sessions are in order of time, each twelfth of a returning visitor."""
    return f"""
    SELECT s, (hash(n, 1) % 1000)::BIGINT AS luck, 1 + s // {of_a_workspace} AS w,
      n * ({YEAR_SECONDS} - 2 * {_DAY}) // {of_a_workspace} + hash(n, 4) % {_DAY} AS second,
      CASE WHEN n % 12 = 11 THEN (hash(n, 5) % (n - n // 12))::BIGINT ELSE n - n // 12 END AS v
    FROM (SELECT s, s % {of_a_workspace} AS n FROM range({{sessions}}) r(s))
    """


def event_expressions(persons: int) -> dict[str, str]:
    """Returns the SQL of identity columns and event names of the first workspace."""
    return {
        "event_name": "CASE WHEN k = 4 AND luck < 80 THEN 'purchase'"
        " WHEN k = 3 AND luck < 200 THEN 'add_to_cart' WHEN k = 1 THEN '$identify' ELSE 'page_view' END",
        "visitor_id": "'visitor-' || v",
        "session_id": "'session-' || s",
        "strong_id": f"CASE WHEN k = 1 AND w = 1 THEN 'user-' || v % {persons} END",
        "distinct_id": "CASE WHEN k = 1 AND w = 1 AND v % 5 = 0 THEN 'device-' || v END",
    }


async def build_store(path: Path) -> None:
    """Generate the events of both workspaces."""
    store = open_store(path)
    await store.start()
    await generate_events(
        store, 2 * SESSIONS * 5, END, session_expression(SESSIONS), event_expressions(PERSONS)
    )
    await store.aclose()


def open_store(path: Path | None) -> SqlEventStore:
    """Returns the store on a file, or an empty one."""
    return SqlEventStore(
        DuckDbBackend(
            DuckDbSettings(url="duckdb://", path=path, threads=2, memory_limit="8GB", timeout_seconds=600)
        )
    )


async def time_milliseconds(work: Awaitable[Any]) -> float:
    """Returns the CPU milliseconds of an awaitable."""
    started = time.process_time()
    await work
    return (time.process_time() - started) * 1000


async def measure_aggregates(store: SqlEventStore, rounds: int, console: Console) -> None:
    """Print reads over all persons, linked and anonymous, next to hand-written SQL."""
    hand = store.backend.open_session().cursor  # type: ignore[attr-defined]
    table = Table("question", "days", "linked ms", "by hand", "ratio", "unlinked", "ratio")
    for days in (30, 365):
        linked, unlinked = make_scan(days), replace(make_scan(days), workspace_id=UNLINKED)
        for question in read_benchmarks(days):
            if question.name not in PERSON_READS:
                continue
            mine, theirs, off = [], [], []
            for _ in range(rounds):
                mine.append(await time_milliseconds(question.read(store, linked)))
                started = time.process_time()
                hand.execute(question.hand_written_sql).fetchall()
                theirs.append((time.process_time() - started) * 1000)
                off.append(await time_milliseconds(question.read(store, unlinked)))
            a, b, c = median(mine), median(theirs), median(off)
            values = (f"{a:.0f}", f"{b:.0f}", f"{a / b:.2f}", f"{c:.0f}", f"{a / c:.2f}")
            table.add_row(question.name, str(days), *values)
    console.print(table)


async def read_one_person(store: SqlEventStore, of: QueryScope, any_id: str) -> None:
    """Runs all reads of `/users/{userId}`."""
    person = await store.find_person_of_any_id(of.workspace_id, any_id)
    assert person is not None
    await store.read_activity(PersonActivityQuery(of, person, timedelta(days=30), 200))


async def measure_person_reads(store: SqlEventStore, rounds: int, console: Console) -> None:
    """Print reads of one person, with a million linked persons and without."""
    hand = store.backend.open_session().cursor  # type: ignore[attr-defined]
    linked, unlinked = make_scan(90), replace(make_scan(90), workspace_id=UNLINKED)
    mine, theirs, off = [], [], []
    for number in range(1000, 1000 + rounds):
        mine.append(await time_milliseconds(read_one_person(store, linked, f"user-{number}")))
        started = time.process_time()
        hand.execute(_EVENTS_OF_PERSONS, [WORKSPACE, f"u:user-{number}"]).fetchall()
        theirs.append((time.process_time() - started) * 1000)
        off.append(await time_milliseconds(read_one_person(store, unlinked, f"visitor-{number}")))
    a, b, c = median(mine), median(theirs), median(off)
    console.print(
        f"/users/{{userId}}: {a:.0f} ms, its events by hand {b:.0f} ms; unlinked {c:.0f} ms, {a / c:.2f}"
    )


_EVENTS_OF_PERSONS: Final = """
SELECT * FROM events WHERE workspace_id = $1 AND visitor_no IN (
  SELECT visitor_no FROM visitor_owners WHERE strong_no = (SELECT number FROM id_numbers WHERE workspace_id = $1 AND id = $2))
ORDER BY timestamp
"""


def linking_batch(kind: str, number: int, workspace: UUID) -> list[Event]:
    """Returns a batch of a kind."""
    story = EventBuilder(workspace)
    story._next_seq = (number + 1) << 50
    for i in range(BATCH):
        at, new = END + timedelta(minutes=number, milliseconds=i), f"new-{number}-{i}"
        match kind:
            case "views of known visitors":
                story.add_event("page_view", at=at, visitor=f"visitor-{number * BATCH + i}", session=new)
            case "known visitors say who they are again":
                n = number * BATCH + i
                user = f"user-{n % PERSONS}"
                story.add_event("$identify", at=at, visitor=f"visitor-{n}", session=new, strong_id=user)
            case "new visitors":
                story.add_event("page_view", at=at, visitor=new, session=new)
            case "new visitors are linked":
                story.add_event("$identify", at=at, visitor=new, session=new, strong_id=f"user-{i * 7}")
            case _:
                user = f"user-{(number * BATCH + i + 5) % PERSONS}"
                story.add_event("$identify", at=at, visitor=f"visitor-{i}", session=new, strong_id=user)
    return story.events


LINK_KINDS: Final = (
    "views of known visitors",
    "known visitors say who they are again",
    "new visitors",
    "new visitors are linked",
    "known visitors become somebody else",
)


async def measure_linking(path: Path, rounds: int, console: Console) -> None:
    """Print appends and revocations, with a million persons and in an empty store."""
    stores = [open_store(path), open_store(None)]
    for store in stores:
        await store.start()
    table = Table(f"batch of {BATCH:,}", "a million persons ms", "an empty store", "ratio")
    for place, kind in enumerate(LINK_KINDS):
        took: list[list[float]] = [[], []]
        for number in range(rounds):
            events = linking_batch(kind, place * rounds + number, UUID(WORKSPACE))
            for store, times in zip(stores, took, strict=True):
                times.append(await time_milliseconds(store.append(events)))
        a, b = map(median, took)
        table.add_row(kind, f"{a:.0f}", f"{b:.0f}", f"{a / b:.2f}")
    links = [f"e{5 * number + 1}" for number in range(0, 1000 * rounds, 1000)]
    revoked = [await time_milliseconds(stores[0].revoke_identity_link(UUID(WORKSPACE), one)) for one in links]
    console.print(table, f"revoking a link: {median(revoked):.0f} ms")
    for store in stores:
        await store.aclose()


async def main(folder: Path, rounds: int) -> None:
    """Generate missing events and print the figures."""
    path = folder / "identity.db"
    if not path.exists():
        await build_store(path)
    console = Console(width=120)
    store = open_store(path)
    await store.start()
    await measure_aggregates(store, rounds, console)
    await measure_person_reads(store, rounds, console)
    await store.aclose()
    with TemporaryDirectory(dir=folder) as apart:
        await measure_linking(Path(await asyncio.to_thread(shutil.copy, path, apart)), rounds, console)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(given.folder, given.rounds))
