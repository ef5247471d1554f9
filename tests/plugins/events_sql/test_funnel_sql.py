"""The cost of funnel statements: rows touched, and indexes used."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.dialects.clickhouse.compiler import ClickHouseDialect
from plugins.events_sql.dialects.duckdb.compiler import DuckDialect
from plugins.events_sql.dialects.postgresql.compiler import PostgreSqlDialect
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.statement_cache import Statement, StatementCache
from plugins.events_sql.reads.funnels.funnel import _funnel_events_query
from plugins.events_sql.reads.funnels.funnel_sql import ordered_funnel_statement
from service_core.plugin import FunnelReaderQuery
from service_core.testing.event_builder import EventBuilder
from tests.plugins.events_sql.conftest import SPAN

STEPS = tuple(frozenset({name}) for name in "ABC")
PLAN = FunnelReaderQuery(
    EventBuilder().query_scope(SPAN), STEPS, timedelta(days=14), SPAN.end, exclude=frozenset({"X"})
)
PLANS = (PLAN, replace(PLAN, exclude=frozenset()))
FUNNEL_NODES = """
SELECT CAST(0 AS BIGINT) AS unit, CAST(n AS BIGINT) AS t, CAST(n AS BIGINT) AS seq,
  n % 4 = 0 AS starts, n % 97 = 0 AS excluded, n % 4 = 0 AS in0, n % 4 = 1 AS in1, n % 4 = 2 AS in2
FROM generate_series(1, {events}) AS e(n)
UNION ALL SELECT n, n, n, true, false, true, false, false FROM generate_series(1, {others}) AS o(n)
"""


def explain_statement(reader: StatementRunner, asked: Statement, options: str = "") -> dict[str, Any]:
    text, values = reader._statements.render_from_cache(asked)
    ((found,),) = reader.lazily_opened_session.fetch_rows(f"EXPLAIN (FORMAT JSON{options}) {text}", values)
    return (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]


def plan_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from plan_nodes(part)


async def explain_funnel(
    store: SqlEventStore, events: int, others: int, plan: FunnelReaderQuery = PLAN
) -> list[dict[str, Any]]:
    def work(reader: StatementRunner) -> list[dict[str, Any]]:
        reader.lazily_opened_session.create_temp_table(
            "funnel_events", FUNNEL_NODES.format(events=events, others=others), ()
        )
        return list(
            plan_nodes(explain_statement(reader, ordered_funnel_statement(plan), ", ANALYZE, TIMING OFF"))
        )

    return await store._engine.run_read_within_time_budget(work)


def count_plan_rows(plan: list[dict[str, Any]]) -> float:
    """Returns the rows that all plan nodes returned or filtered."""
    left_out = ("Rows Removed by Filter", "Rows Removed by Join Filter")
    return sum(n["Actual Loops"] * (n["Actual Rows"] + sum(n.get(k, 0) for k in left_out)) for n in plan)


@pytest.mark.parametrize("plan", PLANS, ids=["excluding", "all"])
async def test_funnel_reads_rows_in_proportion_to_the_events_of_a_unit(
    postgresql: SqlEventStore, plan: FunnelReaderQuery
) -> None:
    few = await explain_funnel(postgresql, 800, 100, plan)
    many = await explain_funnel(postgresql, 8000, 1000, plan)

    assert count_plan_rows(many) < 12 * count_plan_rows(few)


async def test_funnel_windows_include_only_units_with_a_second_step(postgresql: SqlEventStore) -> None:
    plan = await explain_funnel(postgresql, 100, 5000)

    assert max(n["Actual Rows"] for n in plan if n["Node Type"] == "WindowAgg") == 100


@pytest.mark.parametrize("plan", PLANS, ids=["excluding", "all"])
@pytest.mark.parametrize("dialect", [DuckDialect, PostgreSqlDialect, ClickHouseDialect])
def test_funnel_windows_only_grow(dialect: Any, plan: FunnelReaderQuery) -> None:
    # A frame whose beginning moves is gone through again for each event, and no plan shows it.
    text, _ = StatementCache(dialect()).render_from_cache(ordered_funnel_statement(plan))

    assert text.count("ROWS BETWEEN UNBOUNDED PRECEDING AND ") == text.count("ROWS BETWEEN") > 0


async def test_funnel_reads_events_from_a_covering_index(postgresql: SqlEventStore) -> None:
    # Whole rows are several times as large, and taken apart column by column.
    text, _ = StatementCache(PostgreSqlDialect()).render_from_cache(_funnel_events_query(PLAN, SPAN))
    request = "SELECT attname FROM pg_attribute WHERE attrelid = 'events_narrow'::regclass"
    result = await postgresql._engine.run_read_within_time_budget(lambda reader: reader.execute_text(request))

    assert {name for (name,) in result} >= set(re.findall(r'events\."?(\w+)', text)) > {"event_name"}
