"""What a funnel costs: by rows that are touched, and by what is read of an event."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from plugins.events_sql.adapter import SqlEvents
from plugins.events_sql.dialects.clickhouse.spelling import ClickHouseDialect
from plugins.events_sql.dialects.duckdb.spelling import DuckDialect
from plugins.events_sql.dialects.postgresql.spelling import PostgresDialect
from plugins.events_sql.engine import Reader
from plugins.events_sql.funnel import _steps
from plugins.events_sql.statements import Statement, Statements
from plugins.events_sql.walks import ordered
from service_core.plugin import FunnelPlan
from service_core.testing.story import Story
from tests.plugins.events_sql.conftest import SPAN

STEPS = tuple(frozenset({name}) for name in "ABC")
PLAN = FunnelPlan(Story().scan(SPAN), STEPS, timedelta(days=14), SPAN.end, exclude=frozenset({"X"}))
WALKED = """
SELECT CAST(0 AS BIGINT) AS unit, CAST(n AS BIGINT) AS t, CAST(n AS BIGINT) AS seq,
  n % 4 = 0 AS starts, n % 97 = 0 AS excluded, n % 4 = 0 AS in0, n % 4 = 1 AS in1, n % 4 = 2 AS in2
FROM generate_series(1, {events}) AS e(n)
UNION ALL SELECT n, n, n, true, false, true, false, false FROM generate_series(1, {others}) AS o(n)
"""


def explained(reader: Reader, asked: Statement, options: str = "") -> dict[str, Any]:
    text, values = reader._statements.render(asked)
    ((found,),) = reader.session.rows(f"EXPLAIN (FORMAT JSON{options}) {text}", values)
    return (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


async def walked(store: SqlEvents, events: int, others: int) -> list[dict[str, Any]]:
    def work(reader: Reader) -> list[dict[str, Any]]:
        reader.session.keep("steps", WALKED.format(events=events, others=others), ())
        return list(nodes(explained(reader, ordered(PLAN), ", ANALYZE, TIMING OFF")))

    return await store._engine.read(work)


def touched(plan: list[dict[str, Any]]) -> float:
    """Rows that all nodes gave or left out."""
    left_out = ("Rows Removed by Filter", "Rows Removed by Join Filter")
    return sum(n["Actual Loops"] * (n["Actual Rows"] + sum(n.get(k, 0) for k in left_out)) for n in plan)


async def test_a_walk_touches_rows_in_proportion_to_the_events_of_a_unit(postgresql: SqlEvents) -> None:
    few, many = await walked(postgresql, 800, 100), await walked(postgresql, 8000, 1000)

    assert touched(many) < 12 * touched(few)


async def test_only_units_that_may_have_done_a_second_step_are_walked(postgresql: SqlEvents) -> None:
    plan = await walked(postgresql, 100, 5000)

    assert max(n["Actual Rows"] for n in plan if n["Node Type"] == "WindowAgg") == 100


@pytest.mark.parametrize("dialect", [DuckDialect, PostgresDialect, ClickHouseDialect])
def test_what_comes_after_an_event_only_grows_as_a_walk_goes_on(dialect: Any) -> None:
    # A frame whose beginning moves is gone through again for each event, and no plan shows it.
    text, _ = Statements(dialect()).render(ordered(PLAN))

    assert text.count("ROWS BETWEEN UNBOUNDED PRECEDING AND ") == text.count("ROWS BETWEEN") > 0


async def test_what_a_funnel_reads_of_an_event_stands_in_one_index(postgresql: SqlEvents) -> None:
    # Whole rows are several times as large, and taken apart column by column.
    text, _ = Statements(PostgresDialect()).render(_steps(PLAN, SPAN))
    asked = "SELECT attname FROM pg_attribute WHERE attrelid = 'events_narrow'::regclass"
    told = await postgresql._engine.read(lambda reader: reader.text(asked))

    assert {name for (name,) in told} >= set(re.findall(r'events\."?(\w+)', text)) > {"event_name"}
