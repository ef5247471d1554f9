"""Measures the cost of events in ClickHouse while a store grows, next to the capacity model of the docs.

    nice -n 10 python -m tests.bench.capacity --events 10000000 50000000

Needs the engine (``nox -s clickhouse`` installs it). Generated events, sessions of five events over a year, are
inserted by SQL with all derived rows; 30 % of them belong to one workspace, which is read at each given size.
Times are CPU times, so that a busy machine gives the same figures. The data is removed afterwards.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import clickhouse_connect
from rich.console import Console
from rich.table import Table

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.clickhouse import append, ddl, replacing_rows
from plugins.events_sql.dialects.clickhouse.backend import ClickHouseBackend
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.schema.tables import (
    EVENTS,
    REPORTED_TOUCHES,
    SESSIONS,
    TOUCH_CANDIDATES,
    VISITOR_ID_PAIRS,
    VISITOR_OWNERS,
    WEAK_LINKS,
)
from plugins.events_sql.settings import ClickHouseSettings
from plugins.events_sql.writes import derived_tables
from service_core.analytics.measures import entry_column, touch_column
from service_core.plugin import (
    AggregateQuery,
    Buckets,
    BucketUnit,
    CohortReaderQuery,
    ColumnSort,
    ConversionSet,
    CreditRule,
    FunnelReaderQuery,
    QueryScope,
    Relation,
    TimeRange,
    Weighting,
    count_distinct,
    count_rows,
    sum_column,
)
from service_core.testing.event_builder import EventBuilder
from tests.bench.capacity_model import APPEND_SECONDS, estimate_needs
from tests.bench.generated_events import EVENT_EXPRESSIONS, PER_SESSION, WORKSPACE, YEAR_SECONDS

CapacityRead = Callable[[SqlEventStore], Awaitable[Any]]
START = datetime(2025, 7, 1, tzinfo=UTC)
SLICE = 1_000_000
"""Events per insert."""

LIMITS = {"max_memory_usage": 8_000_000_000, "max_threads": 2}
BATCH, BATCHES = 5_000, 4
SHARE = 0.3
"""The share of the events that belongs to the workspace that is read."""

_CLICKHOUSE_FUNCTIONS = {"hash(": "cityHash64(", "::VARCHAR": "::String", "::BIGINT": "::Int64"}


def row_number_sql(of: str) -> str:
    return f"toInt128(bitShiftRight(reinterpretAsUInt128(sipHash128({of})), 1))"


_REPORTED_TOUCHES = {
    "workspace_id": "toUUID(concat('00000000-0000-0000-0000-', leftPad(lower(hex(toUInt8(w))), 12, '0')))",
    "visitor_id": "concat('visitor-', lower(hex(MD5(toString(w * 100000000 + v)))))",
    "session_id": "concat('session-', lower(hex(MD5(toString(s)))))",
    "strong_id": "if(k = 1 AND known AND luck % 2 = 0, concat('user-', lower(hex(MD5(toString(intDiv(v, 2)))))), NULL)",
    "visitor_no": row_number_sql("'v', w, v"),
    "strong_no": "if(k = 1 AND known AND luck % 2 = 0, " + row_number_sql("'u', w, intDiv(v, 2)") + ", NULL)",
    "session_no": row_number_sql("'s', w, s"),
}
_HISTORY = """
CREATE OR REPLACE TEMPORARY TABLE own AS
SELECT {columns} FROM (
  SELECT *, s * {per} + k AS i, cityHash64(v, 7) % 4 = 0 AS known,
    toDateTime64('{start}', 6, 'UTC') + toIntervalSecond(second + k * 40) AS happened,
    multiIf(luck % 3 = 0, 'google', luck % 3 = 1, 'news', NULL) AS csp_origin_or_scheme,
    multiIf(luck % 3 = 0, 'cpc', luck % 3 = 1, 'organic', NULL) AS medium_of,
    multiIf(luck % 3 = 0, 'paid_search', luck % 3 = 1, 'organic_search', NULL) AS channel_of
  FROM (
    SELECT toInt64(number) AS s, toInt64(arrayJoin(range({per}))) AS k, s % 10 < 3 AS is_large, toInt64(cityHash64(s, 1) % 1000) AS luck,
      intDiv(s * {year}, {sessions}) AS second,
      if(is_large, 1, 2 + toInt64(cityHash64(s, 2) % 9)) AS w, toInt64(cityHash64(s, 3) % (intDiv(s, 6) + 1)) AS v
    FROM numbers({first}, {count})))
"""


@contextmanager
def cpu_per_statement() -> Iterator[list[float]]:
    """Yields the CPU seconds and elapsed seconds of the block."""
    spent = [time.process_time(), time.perf_counter()]
    yield spent
    spent[:] = time.process_time() - spent[0], time.perf_counter() - spent[1]


def write_events(writer: StatementRunner, first: int, last: int, whole: int) -> None:
    """Inserts a part of a year's events, with all derived rows.

    Args:
        writer: runs the statements.
        first: number of events already inserted.
        last: number of events after the call.
        whole: number of events of the year.
    """
    columns = []
    for c in EVENTS.columns:
        text = _REPORTED_TOUCHES.get(c.name) or EVENT_EXPRESSIONS.get(c.name, "NULL")
        for result, instead in _CLICKHOUSE_FUNCTIONS.items():
            text = text.replace(result, instead)
        columns.append(f"CAST({text} AS {ddl.clickhouse_column_type(EVENTS, c)}) AS {c.name}")
    values = {
        "columns": ", ".join(columns),
        "per": PER_SESSION,
        "start": f"{START:%Y-%m-%d}",
        "year": YEAR_SECONDS,
    }
    for at in range(first, last, SLICE):
        count = (min(at + SLICE, last) - at) // PER_SESSION
        writer.execute_text(
            _HISTORY.format(**values, sessions=whole // PER_SESSION, first=at // PER_SESSION, count=count)
        )
        _write_derived_tables(writer)
    for w in range(1, 11):
        own, weak = (
            append._workspace_rows(EVENTS, UUID(int=w)),
            append._workspace_rows(WEAK_LINKS, UUID(int=w)),
        )
        links = derived_tables.identity_link_rows(own, weak).subquery("identity_link_rows")
        replacing_rows.insert_versioned_and_mark_deleted(
            writer,
            append._next_version(writer),
            VISITOR_ID_PAIRS,
            derived_tables.visitor_id_pair_rows(own, weak),
            [],
        )
        replacing_rows.insert_versioned_and_mark_deleted(
            writer,
            append._next_version(writer),
            VISITOR_OWNERS,
            derived_tables.visitor_owner_periods(links),
            [],
        )


def _write_derived_tables(writer: StatementRunner) -> None:
    """Inserts the events of the table ``own``, and the derived rows."""
    writer.execute_text(f"INSERT INTO events SELECT {', '.join(c.name for c in EVENTS.columns)} FROM own")
    for kind in ("visitor", "strong"):
        prefix = {"visitor": "v:", "strong": "u:"}[kind]
        writer.execute_text(
            f"INSERT INTO id_numbers SELECT DISTINCT workspace_id, concat('{prefix}', {kind}_id), {kind}_no"
            f" FROM own WHERE {kind}_id IS NOT NULL"
        )
    version, own = append._next_version(writer), append._BATCH_SESSION_EVENTS
    for table, found in (
        (SESSIONS, derived_tables.session_rows(own)),
        (REPORTED_TOUCHES, derived_tables.reported_touch_rows(own)),
        (TOUCH_CANDIDATES, derived_tables.touch_candidate_rows(own)),
    ):
        replacing_rows.insert_versioned_and_mark_deleted(writer, version, table, found, [])


def capacity_reads(of: QueryScope) -> dict[str, CapacityRead]:
    """Returns typical reads of a workspace, by their kind in the capacity model."""
    days = tuple(of.span.start + timedelta(days=i) for i in range(0, (of.span.end - of.span.start).days, 7))
    weeks = Buckets(BucketUnit.WEEK, days, days[-1] + timedelta(days=7))
    steps = tuple(frozenset({name}) for name in ("page_view", "add_to_cart", "purchase"))
    last = CreditRule(Weighting.LAST, timedelta(days=30), ignore_direct=True)
    totals = (
        count_rows(Relation.EVENTS),
        count_distinct("visitor_id", Relation.EVENTS),
        count_distinct("session", Relation.EVENTS),
    )
    top = {"order": (ColumnSort("m0"),), "limit": 20}
    referrers = ({Relation.EVENTS: entry_column("referrer_host")},)
    campaigns = ({Relation.CREDITS: touch_column("utm_campaign")},)
    credited = (sum_column("credit", Relation.CREDITS), sum_column("amount", Relation.CREDITS))
    return {
        "totals": lambda store: store.aggregate(AggregateQuery(of, totals)),
        "breakdown": lambda store: store.aggregate(AggregateQuery(of, totals[1:2], referrers, **top)),
        "attribution": lambda store: store.aggregate(
            AggregateQuery(of, credited, campaigns, credit=last, **top)
        ),
        "retention": lambda store: store.read_cohorts(CohortReaderQuery(of, weeks, weeks)),
        "funnel": lambda store: store.read_funnel(
            FunnelReaderQuery(of, steps, timedelta(days=14), of.span.end)
        ),
    }


async def measure_appends(store: SqlEventStore, until: datetime) -> tuple[float, float]:
    """Returns CPU seconds and elapsed seconds per event of an append."""
    random, spent = Random(1), [0.0, 0.0]
    for number in range(BATCHES):
        story = EventBuilder(UUID(int=1))
        for i in range(BATCH):
            visitor = f"new-{until:%y%m%d%H}-{number}-{i // PER_SESSION}"
            at = until + timedelta(seconds=random.randrange(3600))
            story.add_event(
                "page_view", at=at, visitor=visitor, session=visitor, page_path=f"/{random.randrange(400)}"
            )
        with cpu_per_statement() as took:
            await store.append(story.events)
        spent = [a + b / BATCH / BATCHES for a, b in zip(spent, took, strict=True)]
    return spent[0], spent[1]


async def table_sizes(store: SqlEventStore) -> dict[str, int]:
    """Returns the bytes on disk of each table."""
    text = "SELECT table, toInt64(sum(bytes_on_disk)) FROM system.parts WHERE active AND database = 'default' GROUP BY 1"
    return dict(await store._engine.run_read_within_time_budget(lambda reader: reader.execute_text(text, {})))


async def measure_store(store: SqlEventStore, events: int, until: datetime, console: Console) -> None:
    """Measure the reads and print them next to the model."""
    of_tables = await table_sizes(store)
    derived = sum(of_tables.values()) - of_tables["events"]
    expected = estimate_needs(events)
    table = Table("figure", "measured", "model", title=f"{events:,} events")
    table.add_row(
        "bytes an event", f"{of_tables['events'] / events:.1f}", f"{expected.bytes_events / events:.1f}"
    )
    table.add_row(
        "bytes of what follows", f"{derived / events:.1f}", f"{expected.bytes_derived / events:.1f}"
    )
    span = TimeRange(START, until)
    for name, looked in (
        ("30 days", TimeRange(max(START, until - timedelta(days=30)), until)),
        ("all", span),
    ):
        of = QueryScope(UUID(WORKSPACE), looked, "USD", "UTC", ConversionSet(frozenset({"purchase"})), ())
        read = int(events * SHARE * ((looked.end - looked.start) / (span.end - span.start)))
        for kind, ask in capacity_reads(of).items():
            tries = []
            for _ in range(2):
                with cpu_per_statement() as took:
                    await ask(store)
                tries.append(tuple(took))
            cpu, clock = min(tries)
            seconds = estimate_needs(events, int(events * SHARE), read, processors=1).seconds[kind]
            table.add_row(
                f"{kind}, {name}, {read / 1e6:.1f} million", f"{cpu:.2f} s ({clock:.2f})", f"{seconds:.2f} s"
            )
    cpu, clock = await measure_appends(store, until)
    table.add_row(
        "append, an event", f"{cpu * 1000:.3f} ms ({clock * 1000:.3f})", f"{APPEND_SECONDS * 1000:.3f} ms"
    )
    console.print(table)


async def main(sizes: Sequence[int], whole: int, folder: Path) -> None:
    """Inserts events, measure, and remove them."""
    named = {"url": "clickhouse://here/default", "host": "here", "path": "default", "timeout_seconds": 600}

    def connect() -> Any:
        return clickhouse_connect.get_client(interface="chdb", path=str(folder), settings=LIMITS)

    store = SqlEventStore(ClickHouseBackend(ClickHouseSettings.model_validate(named), connect))
    await store.start()
    console, written = Console(width=100), 0
    for events in sorted(sizes):
        with cpu_per_statement() as took:
            await store._engine.run_write_to_its_end(
                partial(write_events, first=written, last=events, whole=whole)
            )
        rate = (events - written) / took[0]
        console.print(f"{events:,} events, the last {took[1]:.0f} s: {rate:,.0f} a second of one processor")
        written = events
        await measure_store(store, events, START + timedelta(seconds=YEAR_SECONDS * events // whole), console)
    await store.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000], help="sizes to measure at")
    parser.add_argument("--whole", type=int, default=0, help="events of a year; the largest size unless told")
    given = parser.parse_args()
    with TemporaryDirectory() as made:
        asyncio.run(main(given.events, given.whole or max(given.events), Path(made) / "data"))
