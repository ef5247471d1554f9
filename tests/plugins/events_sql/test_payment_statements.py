"""Payments are planned without what revenue providers report where they report nothing around the span."""

import pytest

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.execution.query_executor import StatementRunner
from service_core.analytics.measures import sum_column
from service_core.analytics.ports import AggregateQuery
from service_core.plugin import Relation
from service_core.testing.event_builder import EventBuilder, whole_utc_days

_PROVIDER_PART = "of_providers"
"""The name of the part of a statement that searches reports of providers."""


@pytest.mark.parametrize(("provider_day", "is_searched"), [("2026-03-16", True), ("2026-03-18", False)])
async def test_provider_reports_are_searched_when_there_is_one_less_than_a_week_from_the_span(
    duckdb: SqlEventStore, monkeypatch: pytest.MonkeyPatch, provider_day: str, is_searched: bool
) -> None:
    builder = EventBuilder()
    builder.add_event("purchase", at="2026-03-10", visitor="A1", revenue=100, order_id="O1")
    builder.add_event("purchase", at="2026-03-10T01:00", visitor="A2", revenue=50, order_id="O2")
    builder.add_event(
        "purchase",
        at=provider_day,
        visitor="A1",
        session="paid",
        source="payments",
        revenue=100,
        order_id="O1",
    )
    await duckdb.append(builder.events)
    texts: list[str] = []
    execute = StatementRunner.execute_text

    def record_text(runner: StatementRunner, text: str, values: object = ()) -> object:
        texts.append(text)
        return execute(runner, text, values)  # type: ignore[arg-type]

    monkeypatch.setattr(StatementRunner, "execute_text", record_text)
    scope = builder.query_scope(whole_utc_days("2026-03-01", "2026-03-10"))
    amount = (sum_column("amount", Relation.PAYMENTS),)
    result = await duckdb.aggregate(AggregateQuery(scope, amount))

    assert result.rows == [(50 if is_searched else 150,)]
    assert any(_PROVIDER_PART in text for text in texts) == is_searched
