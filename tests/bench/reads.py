"""Compares reads of the embedded event store with hand-written SQL for the same result.

    python -m tests.bench.reads 1000000 --folder /tmp/bench

Generated events are inserted by SQL; one workspace has 30 % of them. Each read runs on the store (plan, compile, run,
convert) and as hand-written SQL on the engine, in alternating rounds; medians are compared. An existing file is used
again.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any
from uuid import UUID

from rich.console import Console
from rich.table import Table

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.duckdb.backend import DuckDbBackend
from plugins.events_sql.settings import DuckDbSettings
from service_core.analytics.measures import Column, entry_column, touch_column
from service_core.plugin import (
    AggregateQuery,
    Buckets,
    BucketUnit,
    CohortReaderQuery,
    ColumnSort,
    ConversionSet,
    CreditRule,
    EventPageQuery,
    FilterOperator,
    FunnelReaderQuery,
    PeoplePageQuery,
    Predicate,
    QueryScope,
    Relation,
    TimeRange,
    Weighting,
    count_distinct,
    count_rows,
    sum_column,
)
from tests.bench.generated_events import WORKSPACE, generate_events
from tests.bench.people_page import people_page

END = datetime(2026, 7, 1, tzinfo=UTC)
EVENTS, CREDITS, MONEY = Relation.EVENTS, Relation.CREDITS, Relation.PAYMENTS
VIEWS = Predicate("event_name", FilterOperator.IN, ("$pageview", "page_view", "pageview"))
NAMES = frozenset({"purchase", "signup"})
CHARGE, REFUND = (Predicate("kind", value=kind) for kind in ("charge", "refund"))


@dataclass(frozen=True)
class ReadBenchmark:
    """A read of the store, the same in hand-written SQL, and the allowed ratio."""

    name: str
    read: Callable[[SqlEventStore, QueryScope], Awaitable[Any]]
    hand_written_sql: str
    target: float
    values: list[Any] = field(default_factory=list)


def make_scan(days: int, *filters: Predicate) -> QueryScope:
    """Returns the scope of the last days of the large workspace."""
    span = TimeRange(END - timedelta(days=days), END)
    return QueryScope(UUID(WORKSPACE), span, "USD", "UTC", ConversionSet(NAMES), filters)


def make_buckets(days: int, unit: BucketUnit, size: int = 1) -> Buckets:
    """Returns equal buckets over the last days."""
    starts = tuple(END - timedelta(days=days - i) for i in range(0, days, size))
    return Buckets(unit, starts, starts[-1] + timedelta(days=size))


def aggregate_read(*measures: Any, **fields: Any) -> Callable[[SqlEventStore, QueryScope], Awaitable[Any]]:
    """Returns a read of totals, a series or a breakdown."""
    return lambda store, of: store.aggregate(AggregateQuery(of, measures, **fields))


def read_benchmarks(days: int) -> list[ReadBenchmark]:
    """Returns the compared reads over the last days."""
    where = f"""workspace_id = '{WORKSPACE}' AND NOT is_bot
        AND timestamp >= TIMESTAMP '{END - timedelta(days=days):%Y-%m-%d}' AND timestamp < TIMESTAMP '{END:%Y-%m-%d}'"""
    views = "event_name IN ('$pageview', 'page_view', 'pageview')"
    day = (
        f"(epoch_us(timestamp) - epoch_us(TIMESTAMP '{END - timedelta(days=days):%Y-%m-%d}')) // 86400000000"
    )
    week = day.replace("86400000000", "604800000000")
    own = f"SELECT * FROM sessions WHERE workspace_id = '{WORKSPACE}' AND NOT is_bot"
    totals = (
        count_rows(EVENTS, VIEWS),
        count_distinct("visitor_id", EVENTS),
        count_distinct("session", EVENTS),
    )
    counted = f"count(*) FILTER ({views}), count(DISTINCT visitor_no), count(DISTINCT session_no)"
    top = {"order": (ColumnSort("m0"),), "limit": 20}
    steps = tuple(frozenset({name}) for name in ("page_view", "add_to_cart", "purchase"))
    last = CreditRule(Weighting.LAST, timedelta(days=30), ignore_direct=True)
    return [
        ReadBenchmark("totals", aggregate_read(*totals), f"SELECT {counted} FROM events WHERE {where}", 1.10),
        ReadBenchmark(
            "daily series",
            aggregate_read(*totals, buckets=make_buckets(days, BucketUnit.DAY)),
            f"SELECT {day} AS b, {counted} FROM events WHERE {where} GROUP BY 1 ORDER BY 1",
            1.10,
        ),
        ReadBenchmark(
            "revenue, orders, refunds",
            aggregate_read(
                sum_column("amount", MONEY, CHARGE),
                count_rows(MONEY, CHARGE),
                sum_column("amount", MONEY, REFUND),
            ),
            payments_sql(END - timedelta(days=days)),
            1.10,
        ),
        ReadBenchmark(
            "top referrers",
            aggregate_read(
                count_distinct("visitor_id", EVENTS),
                dimensions=({EVENTS: entry_column("referrer_host")},),
                **top,
            ),
            f"""SELECT *, count(*) OVER (), sum(n) OVER () FROM (
                  SELECT s.entry_referrer_host AS d, count(DISTINCT e.visitor_no) AS n
                  FROM (SELECT * FROM events WHERE {where}) e LEFT JOIN ({own}) s USING (session_no) GROUP BY 1)
                ORDER BY n DESC, d LIMIT 20""",
            1.10,
        ),
        ReadBenchmark(
            "top pages",
            aggregate_read(count_rows(EVENTS, VIEWS), dimensions=({EVENTS: Column("page_path")},), **top),
            f"""SELECT *, count(*) OVER (), sum(n) OVER () FROM (
                  SELECT page_path AS d, count(*) AS n FROM events WHERE {where} AND {views} GROUP BY 1)
                ORDER BY n DESC, d LIMIT 20""",
            1.10,
        ),
        ReadBenchmark(
            "persons",
            aggregate_read(count_distinct("person", EVENTS)),
            f"""SELECT count(DISTINCT coalesce(strong_no, owner, visitor_no)) FROM (
                  SELECT e.visitor_no, e.strong_no, o.strong_no AS owner
                  FROM (SELECT visitor_no, strong_no FROM events WHERE {where} GROUP BY ALL) e
                  LEFT JOIN (SELECT visitor_no, strong_no FROM visitor_owners WHERE year(since) = 1) o USING (visitor_no))""",
            2.0,
        ),
        ReadBenchmark(
            "page of 100 at 5000",
            lambda store, of: store.list_events(EventPageQuery(of, 100, 5000, count_total=True)),
            f"""SELECT * FROM events WHERE {where} AND (timestamp, seq) IN (
                  SELECT (timestamp, seq) FROM events WHERE {where}
                  ORDER BY timestamp DESC, seq DESC LIMIT 101 OFFSET 5000)
                ORDER BY timestamp DESC, seq DESC""",
            1.2,
        ),
        ReadBenchmark(
            "weekly retention",
            lambda store, of: store.read_cohorts(
                CohortReaderQuery(
                    of, make_buckets(days, BucketUnit.WEEK, 7), make_buckets(days, BucketUnit.WEEK, 7)
                )
            ),
            retention_sql(week),
            1.4,
        ),
        ReadBenchmark(
            "funnel of 3 steps",
            lambda store, of: store.read_funnel(FunnelReaderQuery(of, steps, timedelta(days=14), END)),
            f"""WITH e AS (SELECT coalesce(e.strong_no, o.strong_no, e.visitor_no) AS u, epoch_us(timestamp) AS t, event_name
                  FROM (SELECT * FROM events WHERE {where} AND event_name IN ('page_view', 'add_to_cart', 'purchase')) e
                  LEFT JOIN visitor_owners o ON o.visitor_no = e.visitor_no
                    AND e.timestamp >= o.since AND e.timestamp < o.until),
                a AS (SELECT u, t FROM e WHERE event_name = 'page_view'),
                b AS (SELECT u, t FROM e WHERE event_name = 'add_to_cart'),
                c AS (SELECT u, t FROM e WHERE event_name = 'purchase'),
                w AS (SELECT a.u, a.t AS t0, b.t AS t1, c.t AS t2 FROM a ASOF LEFT JOIN b ON a.u = b.u AND a.t < b.t
                  ASOF LEFT JOIN c ON a.u = c.u AND b.t < c.t),
                d AS (SELECT u, t0, t1, t2, 1 + coalesce(t1 <= t0 + 1209600000000, false)::INT
                  + coalesce(t2 <= t0 + 1209600000000, false)::INT AS depth FROM w
                  QUALIFY row_number() OVER (PARTITION BY u ORDER BY depth DESC, t0) = 1)
                SELECT count(*), count(*) FILTER (depth > 1), median(t1 - t0) FILTER (depth > 1), avg(t1 - t0) FILTER (depth > 1),
                  count(*) FILTER (depth > 2), median(t2 - t1) FILTER (depth > 2), avg(t2 - t1) FILTER (depth > 2) FROM d""",
            1.5,
        ),
        ReadBenchmark(
            "last non-direct touch",
            aggregate_read(
                *(sum_column("credit", CREDITS), sum_column("amount", CREDITS)),
                dimensions=({CREDITS: touch_column("utm_campaign")},),
                credit=last,
                **top,
            ),
            attribution_sql(where),
            1.10,
        ),
        ReadBenchmark(
            "page of persons",
            lambda store, of: store.list_people_and_total(PeoplePageQuery(of, 50, 0, "last_seen")),
            people_page(WORKSPACE, where, f"{END - timedelta(days=days + 7):%Y-%m-%d}"),
            1.2,
        ),
    ]


def payments_sql(start: datetime) -> str:
    """Charges, each order once in a week, and refunds; of an order that a provider reports, no other report counts."""
    return f"""
    WITH m AS (
      SELECT timestamp, seq, order_id, abs(revenue) AS amount, revenue < 0 OR event_name = 'refund' AS back,
        source NOT IN ('browser', 'mobile_app', 'api', 'web') AS provided
      FROM events WHERE workspace_id = '{WORKSPACE}' AND NOT is_bot AND NOT is_test AND revenue IS NOT NULL
        AND event_name NOT IN ('add_to_cart', 'checkout_started', 'begin_checkout', 'initiate_checkout')
        AND timestamp >= TIMESTAMP '{start - timedelta(days=7):%Y-%m-%d}' AND timestamp < TIMESTAMP '{END:%Y-%m-%d}'),
    p AS (SELECT timestamp, order_id, back FROM m WHERE provided AND order_id IS NOT NULL),
    k AS (SELECT *, lag(timestamp) OVER (PARTITION BY back, order_id ORDER BY timestamp, seq) AS before FROM m)
    SELECT sum(amount) FILTER (NOT back), count(*) FILTER (NOT back), sum(amount) FILTER (back) FROM k
    WHERE timestamp >= TIMESTAMP '{start:%Y-%m-%d}'
      AND (back OR order_id IS NULL OR before IS NULL OR timestamp - before >= INTERVAL 7 DAYS)
      AND NOT EXISTS (FROM p WHERE p.order_id = k.order_id AND p.back = k.back AND NOT k.provided
        AND abs(epoch_us(p.timestamp) - epoch_us(k.timestamp)) < 604800000000)
    """


def retention_sql(week: str) -> str:
    """Cohort sizes; persons, persons seen for the last time and revenue by cohort and week of activity."""
    return f"""
    WITH e AS (
      SELECT coalesce(e.strong_no, o.strong_no, e.visitor_no) AS p, timestamp, {week} AS b, revenue
      FROM (SELECT * FROM events WHERE workspace_id = '{WORKSPACE}' AND NOT is_bot) e
      LEFT JOIN visitor_owners o ON o.visitor_no = e.visitor_no AND e.timestamp >= o.since AND e.timestamp < o.until),
    f AS MATERIALIZED (SELECT p, min(b) AS c FROM e GROUP BY 1 HAVING c >= 0),
    d AS MATERIALIZED (SELECT DISTINCT p, b FROM e WHERE b >= 0),
    l AS (SELECT p, max(b) AS last FROM d GROUP BY 1),
    a AS (SELECT c, b, count(*) AS n, count(*) FILTER (b = last) AS ended FROM d JOIN l USING (p) JOIN f USING (p) GROUP BY ALL),
    m AS (SELECT c, b, sum(revenue) AS paid FROM e JOIN f USING (p) WHERE b >= 0 AND revenue IS NOT NULL GROUP BY ALL)
    SELECT * FROM a FULL JOIN m USING (c, b) UNION ALL SELECT c, NULL, count(*), NULL, NULL FROM f GROUP BY 1
    """


def attribution_sql(where: str) -> str:
    """Last non-direct touch within 30 days by campaign, with touches computed from the candidates."""
    return f"""
    WITH c AS (
      SELECT coalesce(c.strong_no, o.strong_no, c.visitor_no) AS p, c.timestamp AS moment, c.seq, c.session_no, utm_campaign,
        own_channel, coalesce(own_channel, 'direct') AS channel, campaign_in_url, coalesce(utm_source, utm_campaign, click_id) IS NOT NULL AS m,
        [utm_source, utm_medium, utm_campaign, utm_term, utm_content, utm_id, click_id, click_id_type, lyr] AS k,
        [own_channel, own_source, own_medium, utm_campaign, utm_content, utm_term, click_id, lyr] AS same
      FROM touch_candidates c LEFT JOIN visitor_owners o ON o.visitor_no = c.visitor_no AND c.timestamp >= o.since AND c.timestamp < o.until
      WHERE c.workspace_id = '{WORKSPACE}'),
    t AS (
      SELECT *, lag(k) OVER (PARTITION BY p, m ORDER BY moment, seq) AS before, row_number() OVER (PARTITION BY session_no ORDER BY moment, seq) AS place
      FROM c),
    v AS (
      SELECT p, moment, seq, utm_campaign, channel = 'direct' AS direct FROM t
      WHERE NOT (m AND coalesce(before = k, false) AND NOT campaign_in_url) AND (own_channel IS NOT NULL OR place = 1)
      QUALIFY same IS DISTINCT FROM lag(same) OVER (PARTITION BY session_no ORDER BY moment, seq)),
    u AS (
      SELECT seq AS unit, timestamp AS moment, coalesce(e.strong_no, o.strong_no, e.visitor_no) AS p, abs(revenue) AS amount
      FROM (SELECT * FROM events WHERE {where} AND (revenue > 0 OR event_name IN ('purchase', 'signup'))) e
      LEFT JOIN visitor_owners o ON o.visitor_no = e.visitor_no AND e.timestamp >= o.since AND e.timestamp < o.until),
    x AS (
      SELECT u.unit, u.amount, v.utm_campaign, v.p AS hit FROM u
      LEFT JOIN v ON v.p = u.p AND v.moment <= u.moment AND v.moment >= u.moment - INTERVAL 30 DAYS
      QUALIFY row_number() OVER (PARTITION BY unit ORDER BY direct, v.moment DESC, v.seq DESC) = 1)
    SELECT utm_campaign, count(*) * 1000000 AS n, sum(amount), count(*) OVER () FROM x GROUP BY 1 ORDER BY n DESC LIMIT 20
    """


async def compare_with_sql(store: SqlEventStore, days: int, rounds: int, console: Console) -> None:
    """Runs all reads in rounds, and print the medians."""
    table = Table("question", "store ms", "hand ms", "ratio", "target", title=f"last {days} days")
    hand = store.backend.open_session().cursor
    of = make_scan(days)
    for question in read_benchmarks(days):
        mine, theirs = [], []
        for _ in range(rounds):
            started = time.perf_counter()
            await question.read(store, of)
            mine.append(time.perf_counter() - started)
            started = time.perf_counter()
            hand.execute(question.hand_written_sql).fetchall()
            theirs.append(time.perf_counter() - started)
        a, b = median(mine) * 1000, median(theirs) * 1000
        goal = f"{question.target:.2f} + 10 ms" if question.target else "-"
        held = not question.target or a <= b * question.target + 10
        table.add_row(
            question.name, f"{a:.1f}", f"{b:.1f}", f"{a / b:.2f}", goal, style="" if held else "bold"
        )
    console.print(table)


async def main(rows: int, path: Path, rounds: int, *, fresh: bool) -> None:
    """Generate missing events and print the comparison."""
    settings = DuckDbSettings(url="duckdb://", path=path, threads=2, memory_limit="8GB", timeout_seconds=600)
    store = SqlEventStore(DuckDbBackend(settings))
    await store.start()
    console = Console()
    if fresh:
        started = time.perf_counter()
        await generate_events(store, rows, END)
        console.print(f"{rows:,} rows written in {time.perf_counter() - started:.0f} s")
    for question in read_benchmarks(30):  # while a thread of the store still builds what usual questions need
        await question.read(store, make_scan(30))
    for days in (30, 90, 365):
        await compare_with_sql(store, days, rounds, console)
    await store.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--folder", type=Path, default=Path("bench"))
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / f"events_{given.rows}.db"
    asyncio.run(main(given.rows, file, given.rounds, fresh=not file.exists()))
