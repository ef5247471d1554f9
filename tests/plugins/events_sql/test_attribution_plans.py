"""The plans of attribution in PostgreSQL: what is shared is worked out once, not for each conversion."""

import json
from datetime import timedelta
from typing import Any

import pytest

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.execution.query_executor import StatementRunner
from service_core.analytics.measures import sum_column, touch_column
from service_core.analytics.ports import AggregateQuery, CreditRule, Weighting
from service_core.plugin import Relation
from service_core.testing.event_builder import EventBuilder, campaign_columns
from tests.plugins.events_sql.conftest import SPAN
from tests.plugins.events_sql.test_funnel_sql import count_plan_rows, plan_nodes

VISITORS = 600
RULE = CreditRule(Weighting.LAST, timedelta(days=30), ignore_direct=True)


@pytest.fixture
async def buyers(postgresql: SqlEventStore) -> EventBuilder:
    """Stores visitors who came by a campaign and bought."""
    builder = EventBuilder()
    for visitor in range(VISITORS):
        columns = campaign_columns("google", "cpc", f"campaign-{visitor % 7}")
        at = f"2026-03-{1 + visitor % 28:02}"
        builder.add_event("page_view", at=at, visitor=f"A{visitor}", session=f"S{visitor}", **columns)
        builder.add_event(
            "purchase", at=f"{at}T01:00", visitor=f"A{visitor}", session=f"S{visitor}", revenue=100
        )
    await postgresql.append(builder.events)
    await postgresql.maintain()
    return builder


class PlanRows:
    """Counts the rows that the plans of a read's statements return or leave out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows = 0.0
        for name in ("fetch_rows", "create_temp_table"):
            monkeypatch.setattr(StatementRunner, name, self._counting(getattr(StatementRunner, name)))

    def _counting(self, run: Any) -> Any:
        def explain_and_run(runner: StatementRunner, *given: Any) -> Any:
            text, values = runner._statements.render_from_cache(given[-1])
            explain = f"EXPLAIN (FORMAT JSON, ANALYZE, TIMING OFF) {text}"
            ((plan,),) = runner.lazily_opened_session.fetch_rows(explain, values)
            plan = json.loads(plan) if isinstance(plan, str) else plan
            self.rows += count_plan_rows(list(plan_nodes(plan[0]["Plan"])))
            return run(runner, *given)

        return explain_and_run


async def test_attribution_of_one_event_name_reads_no_more_rows_than_of_all(
    postgresql: SqlEventStore, buyers: EventBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The names make the planner expect few conversions: nothing that is shared may be worked out again for each of them.
    counted = PlanRows(monkeypatch)
    read_rows = []
    for names in (None, frozenset({"purchase"})):
        counted.rows = 0
        rule = CreditRule(RULE.weighting, RULE.window, ignore_direct=True, event_names=names)
        columns = ({"credits": touch_column("channel")},)
        plan = AggregateQuery(
            buyers.query_scope(SPAN), (sum_column("credit", Relation.CREDITS),), columns, credit=rule
        )
        assert (await postgresql.aggregate(plan)).rows == [("paid_search", VISITORS * 1_000_000)]
        read_rows.append(counted.rows)

    assert read_rows[1] < 1.5 * read_rows[0]
    assert read_rows[0] < 100 * VISITORS
