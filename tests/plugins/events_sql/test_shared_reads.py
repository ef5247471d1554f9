"""Reads that share a run: which ones may, and what the run reads."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from plugins.events_sql.adapter import SqlEventStore
from plugins.events_sql.execution.query_executor import StatementRunner
from plugins.events_sql.execution.shared_reads import SharedReads
from plugins.events_sql.reads.aggregate import may_share_credit_or_payment_tables
from service_core.analytics.measures import (
    Column,
    count_distinct,
    count_rows,
    entry_column,
    property_column,
    sum_column,
    touch_column,
)
from service_core.analytics.ports import (
    AggregateQuery,
    AggregateResult,
    CreditRule,
    QueryScope,
    TouchPathQuery,
    Weighting,
)
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit
from service_core.plugin import Predicate, Relation
from service_core.testing.event_builder import EventBuilder, campaign_columns, whole_utc_days
from service_core.testing.random_datasets import random_dataset
from tests.plugins.events_sql.conftest import SPAN

RULE = CreditRule(Weighting.LINEAR, timedelta(days=30))
CREDITED = sum_column("credit", Relation.CREDITS)
SCOPE = EventBuilder().query_scope(SPAN)
EVENTS = AggregateQuery(SCOPE, (count_rows(Relation.EVENTS),))
CREDITS = AggregateQuery(SCOPE, (CREDITED,), credit=RULE)


class RecordedRuns:
    """Answers runs when they are released, with the number of the run as the only value."""

    def __init__(self, *, is_only_writer: bool = True) -> None:
        self.runs: list[list[AggregateQuery]] = []
        self.ended_writes: int | None = 0
        self.released = asyncio.Event()
        self.cancelled = 0
        self.shared = SharedReads(
            self._run,
            lambda: self.ended_writes,
            is_only_writer=is_only_writer,
            copy_result=lambda result: replace(result, rows=list(result.rows)),
            may_share_credit_or_payment_tables=may_share_credit_or_payment_tables,
        )

    async def _run(self, queries: Sequence[AggregateQuery]) -> list[AggregateResult]:
        self.runs.append(list(queries))
        number = len(self.runs)
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return [AggregateResult([(number, i)], (), 1, ()) for i in range(len(queries))]

    async def ask(self, query: AggregateQuery) -> asyncio.Task[AggregateResult]:
        """Returns the task of an aggregate whose run has begun."""
        task = asyncio.create_task(self.shared.read(query))
        for _ in range(5):
            await asyncio.sleep(0)
        return task

    async def answers(self, *tasks: asyncio.Task[AggregateResult]) -> list[tuple[object, ...]]:
        self.released.set()
        return [result.rows[0] for result in await asyncio.gather(*tasks)]


async def test_equal_aggregates_share_a_run_that_has_begun_and_get_rows_of_their_own() -> None:
    recorded = RecordedRuns()
    tasks = [await recorded.ask(EVENTS), await recorded.ask(replace(EVENTS, limit=None))]
    recorded.released.set()
    first, second = await asyncio.gather(*tasks)
    assert len(recorded.runs) == 1
    assert first == second
    assert first.rows is not second.rows


@pytest.mark.parametrize("ended_writes", [1, None])
async def test_aggregate_joins_no_run_that_begun_before_a_write(ended_writes: int | None) -> None:
    recorded = RecordedRuns()
    first = await recorded.ask(EVENTS)
    recorded.ended_writes = ended_writes
    second = await recorded.ask(EVENTS)
    assert await recorded.answers(first, second) == [(1, 0), (2, 0)]


async def test_aggregate_joins_no_begun_run_where_other_processes_write() -> None:
    recorded = RecordedRuns(is_only_writer=False)
    tasks = [await recorded.ask(EVENTS), await recorded.ask(EVENTS)]
    assert await recorded.answers(*tasks) == [(1, 0), (2, 0)]


async def test_aggregates_with_operands_of_different_types_do_not_share_a_run() -> None:
    recorded = RecordedRuns()
    scopes = (replace(SCOPE, filters=(Predicate("interactive", value=value),)) for value in (1, True))
    tasks = [await recorded.ask(replace(EVENTS, scope=scope)) for scope in scopes]
    assert await recorded.answers(*tasks) == [(1, 0), (2, 0)]


async def test_aggregates_of_one_credit_rule_asked_together_share_a_run() -> None:
    recorded = RecordedRuns()
    recorded.released.set()
    by_source = replace(CREDITS, dimensions=({"credits": touch_column("attribution_source")},))
    other_rule = replace(CREDITS, credit=replace(RULE, window=timedelta(days=7)))
    await asyncio.gather(*map(recorded.shared.read, (CREDITS, by_source, EVENTS, other_rule, CREDITS)))
    assert [CREDITS, by_source] in recorded.runs
    assert len(recorded.runs) == 3


async def test_at_most_8_different_aggregates_share_a_run() -> None:
    recorded = RecordedRuns()
    recorded.released.set()
    plans = [replace(CREDITS, limit=limit) for limit in range(1, 11)]
    await asyncio.gather(*map(recorded.shared.read, plans))
    assert recorded.runs == [plans[:8], plans[8:]]


async def test_run_is_cancelled_when_the_last_of_its_callers_goes() -> None:
    recorded = RecordedRuns()
    first, second = await recorded.ask(EVENTS), await recorded.ask(EVENTS)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert recorded.cancelled == 0
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    assert recorded.cancelled == 1


async def test_failed_run_fails_all_its_callers_and_is_not_joined_again() -> None:
    async def fail(_: Sequence[AggregateQuery]) -> list[AggregateResult]:
        raise RuntimeError("broken")

    shared = SharedReads(fail, lambda: 0, is_only_writer=True, copy_result=lambda result: result)
    for _ in range(2):
        failed = await asyncio.gather(shared.read(EVENTS), shared.read(EVENTS), return_exceptions=True)
        assert [type(error) for error in failed] == [RuntimeError] * 2


async def test_attribution_of_a_month_reads_only_that_month_and_its_window(
    duckdb: SqlEventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = EventBuilder()
    for month in range(1, 13):
        for day in (1, 2, 3):
            at = f"2025-{month:02}-{day:02}"
            columns = campaign_columns("google", "cpc", at)
            builder.add_event("page_view", at=f"{at}T10:00", visitor=f"A{day}", session=at, **columns)
            builder.add_event("purchase", at=f"{at}T11:00", visitor=f"A{day}", session=at, revenue=100)
    await duckdb.append(builder.events)
    rows: dict[str, int] = {}
    create = StatementRunner.create_temp_table

    def record_rows(runner: StatementRunner, name: str, statement: object) -> None:
        create(runner, name, statement)  # type: ignore[arg-type]
        assert name not in rows, "a table was created twice"
        [(rows[name],)] = runner.execute_text(f"SELECT count(*) FROM {name}")

    monkeypatch.setattr(StatementRunner, "create_temp_table", record_rows)
    scope = builder.query_scope(whole_utc_days("2025-12-01", "2025-12-31"))
    source = ({"credits": touch_column("attribution_source")},)
    plans = [AggregateQuery(scope, (CREDITED,), dimensions, credit=RULE) for dimensions in ((), source)]
    total, by_source = await asyncio.gather(*map(duckdb.aggregate, plans))

    assert total.rows == [(3_000_000,)]
    assert by_source.rows == [("google", 3_000_000)]
    assert rows["conversion_reports"] == 3
    assert rows["path_candidates"] == 3 + 2  # two lie in the month before the first conversion


async def test_touch_paths_by_two_keys_asked_together_share_their_tables(
    duckdb: SqlEventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = EventBuilder()
    builder.add_event(
        "page_view", at="2026-03-01", visitor="A1", **campaign_columns("google", "cpc", "spring")
    )
    builder.add_event("purchase", at="2026-03-02", visitor="A1", revenue=100)
    await duckdb.append(builder.events)
    created: list[str] = []
    create = StatementRunner.create_temp_table

    def record_name(runner: StatementRunner, name: str, statement: object) -> None:
        created.append(name)
        create(runner, name, statement)  # type: ignore[arg-type]

    monkeypatch.setattr(StatementRunner, "create_temp_table", record_name)
    keys = (touch_column("utm_campaign"),), (touch_column("channel"),)
    plans = [TouchPathQuery(builder.query_scope(SPAN), timedelta(days=30), key) for key in keys]
    by_campaign, by_channel = await asyncio.gather(*map(duckdb.list_distinct_touch_paths_with_counts, plans))

    assert [path.keys for path in by_campaign] == [(("spring",),)]
    assert [path.keys for path in by_channel] == [(("paid_search",),)]
    assert created.count("path_touches") == 1


def _payment_plans(scope: QueryScope) -> list[AggregateQuery]:
    """Returns plans of the same payments by session, first touch, property and product, filtered and by day."""
    amount, orders = sum_column("amount", Relation.PAYMENTS), Predicate("is_order", value=True)
    by = (
        entry_column("channel"),
        touch_column("attribution_source"),
        property_column("plan"),
        Column("product"),
        Column("provider"),
    )
    first = count_distinct("person", Relation.PAYMENTS, Predicate("first_order", value=True))
    measures = (amount, count_rows(Relation.PAYMENTS, orders), first, count_rows(Relation.EVENTS))
    days = buckets_covering(scope.span, BucketUnit.WEEK, ZoneInfo("UTC"))
    filtered = replace(scope, filters=(Predicate("currency", value="USD"),))
    return [
        *(AggregateQuery(scope, measures[:2], ({Relation.PAYMENTS: column},)) for column in by),
        AggregateQuery(scope, measures),
        AggregateQuery(scope, (amount,), buckets=days),
        AggregateQuery(filtered, (amount,)),
    ]


async def test_plans_of_the_same_payments_asked_together_equal_those_asked_alone(
    store: SqlEventStore,
) -> None:
    dataset = random_dataset(Random(2))
    await store.append(dataset.builder.events)
    for order_refunds in (False, True):
        plans = _payment_plans(dataset.builder.query_scope(SPAN, order_refunds=order_refunds))
        alone = [await store.aggregate(plan) for plan in plans]
        assert any(result.rows for result in alone)
        assert await asyncio.gather(*map(store.aggregate, plans)) == alone


async def test_plans_of_the_same_payments_asked_together_compute_them_once(
    duckdb: SqlEventStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = EventBuilder()
    columns = campaign_columns("google", "cpc", "spring")
    builder.add_event("page_view", at="2026-03-01", visitor="A1", session="S1", **columns)
    builder.add_event("purchase", at="2026-03-01T01:00", visitor="A1", session="S1", revenue=100)
    await duckdb.append(builder.events)
    created: list[str] = []
    create = StatementRunner.create_temp_table

    def record_name(runner: StatementRunner, name: str, statement: object) -> None:
        created.append(name)
        create(runner, name, statement)  # type: ignore[arg-type]

    monkeypatch.setattr(StatementRunner, "create_temp_table", record_name)
    plans = _payment_plans(builder.query_scope(SPAN))
    by_channel, by_source, *_ = await asyncio.gather(*map(duckdb.aggregate, plans))

    assert by_channel.rows == [("paid_search", 100, 1)]
    assert by_source.rows == [("google", 100, 1)]
    assert created == ["shared_payments", "first_touches_of_payers"]


def test_plans_of_credits_and_of_other_payments_do_not_share_tables_of_payments() -> None:
    money = AggregateQuery(SCOPE, (sum_column("amount", Relation.PAYMENTS),))
    other_span = replace(money, scope=replace(SCOPE, span=whole_utc_days("2026-01-01", "2026-01-31")))
    credits_too = replace(money, measures=(*money.measures, CREDITED), credit=RULE)
    filtered = replace(money, scope=replace(SCOPE, filters=(Predicate("currency", value="USD"),)))
    assert may_share_credit_or_payment_tables(money, filtered)
    assert not any(
        may_share_credit_or_payment_tables(money, other) for other in (EVENTS, other_span, credits_too)
    )
