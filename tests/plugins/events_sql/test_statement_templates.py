"""Statement templates: a cached template filled with values equals a statement built for these values."""

from dataclasses import replace
from datetime import timedelta
from itertools import cycle
from random import Random
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from plugins.events_sql.dialects.clickhouse.compiler import ClickHouseDialect
from plugins.events_sql.dialects.duckdb.compiler import DuckDialect
from plugins.events_sql.dialects.postgresql.compiler import PostgreSqlDialect
from plugins.events_sql.execution.statement_cache import DeferredStatement, StatementCache
from plugins.events_sql.execution.statement_templates import is_uncacheable, template_key_or_plain_arguments
from plugins.events_sql.reads.aggregate import aggregate_statement
from plugins.events_sql.reads.cohorts import evaluate_cohorts
from plugins.events_sql.reads.people.people_list import (
    create_matching_persons_table,
    read_page_of_matching_persons,
)
from plugins.events_sql.statement_warm_up import compile_frequent_statements_once
from service_core.access.analytics_settings import AnalyticsSettings
from service_core.analytics.measures import NotAll, Ratio, count_rows
from service_core.analytics.ports import AggregateQuery
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit, TimeRange
from service_core.plugin import FilterOperator, Predicate, Relation
from service_core.testing import random_queries
from service_core.testing.event_builder import EventBuilder, whole_utc_days
from service_core.testing.random_datasets import random_dataset
from tests.analytics.deployment import run_deployment

DIALECTS = (DuckDialect, PostgreSqlDialect, ClickHouseDialect)
OTHER = UUID("00000000-0000-7000-8000-0000000000aa")


class RecordingRunner:
    """A statement runner that records statements and returns no rows."""

    def __init__(self):
        self.statements = []

    def fetch_rows(self, statement):
        self.statements.append(statement)
        return []

    def begin_snapshot(self):
        """Does nothing: no statement runs."""

    def create_temp_table(self, _, statement):
        self.statements.append(statement)


def plan_statements(plan):
    """Returns the deferred statements of a plan."""
    if isinstance(plan, AggregateQuery):
        return [aggregate_statement(plan)]
    listener = RecordingRunner()
    for read in (
        (evaluate_cohorts,)
        if hasattr(plan, "activity")
        else (create_matching_persons_table, read_page_of_matching_persons)
    ):
        read(plan, listener)
    return [each for each in listener.statements if isinstance(each, DeferredStatement)]


def other_operand(operand):
    """Returns another operand of the same type."""
    if isinstance(operand, tuple):
        return tuple(map(other_operand, operand))
    return f"other {operand}" if isinstance(operand, str) else operand


def with_other_operands(condition):
    """Returns the condition with other operands."""
    if isinstance(condition, NotAll):
        return NotAll(tuple(map(with_other_operands, condition.conditions)))
    return replace(condition, value=other_operand(condition.value))


def plan_with_other_values(random, plan):
    """Returns the plan with another workspace and other dates, longer or shorter."""
    moved, longer = timedelta(days=random.randint(-900, 900)), timedelta(hours=random.randint(0, 4000))
    span = TimeRange(plan.scope.span.start + moved, plan.scope.span.end + moved + longer)
    filters = tuple(map(with_other_operands, plan.scope.filters))
    scan = replace(
        plan.scope,
        workspace_id=OTHER,
        span=span,
        filters=filters,
        currency=random.choice(("EUR", "USD")),
        conversions=replace(plan.scope.conversions, names=frozenset(random.sample(["a", "b", "c"], 2))),
    )
    zone = ZoneInfo(scan.zone)
    match plan:
        case AggregateQuery(buckets=None):
            return replace(plan, scope=scan)
        case AggregateQuery():
            return replace(plan, scope=scan, buckets=buckets_covering(span, plan.buckets.unit, zone))
        case _ if hasattr(plan, "activity"):
            acquisition = buckets_covering(span, plan.acquisition.unit, zone)
            later = TimeRange(acquisition.starts[0], span.end + timedelta(days=random.randint(0, 90)))
            return replace(
                plan,
                scope=scan,
                acquisition=acquisition,
                activity=buckets_covering(later, plan.activity.unit, zone),
            )
        case _:
            return replace(plan, scope=scan, person=plan.person and "v:b")


def random_person(random, drawn):
    return replace(random_queries.random_people_page_query(random, drawn), person="u:ada")


@pytest.mark.parametrize(
    "draw",
    [
        random_queries.random_aggregate_query,
        random_queries.random_cohort_query,
        random_queries.random_people_page_query,
        random_person,
    ],
)
def test_cached_template_renders_the_same_statement_as_a_new_one(draw):
    for seed, dialect in zip(range(24), cycle(DIALECTS), strict=False):
        random = Random(seed)
        plan = draw(random, random_dataset(random, 20))
        warm = StatementCache(dialect())
        for each in (plan, plan_with_other_values(random, plan), plan_with_other_values(random, plan)):
            for built in plan_statements(each):
                assert warm.render_from_cache(built) == StatementCache(dialect()).render_from_cache(
                    built.build(*built.arguments)
                )


def make_scan(first, last, zone="UTC", **fields):
    return EventBuilder(OTHER).query_scope(whole_utc_days(first, last), zone=zone, **fields)


def daily_read_plans(looked_at):
    return AggregateQuery(
        looked_at,
        (count_rows(Relation.EVENTS),),
        buckets=buckets_covering(looked_at.span, BucketUnit.DAY, ZoneInfo(looked_at.zone)),
    )


def test_statements_for_other_days_and_workspaces_share_a_template():
    statements = StatementCache(DuckDialect())
    texts = {
        statements.render_from_cache(aggregate_statement(daily_read_plans(each)))[0]
        for each in (
            make_scan("2026-01-01", "2026-01-31"),
            make_scan("2026-06-01", "2026-12-31"),
            replace(make_scan("2026-02-01", "2026-02-02"), workspace_id=UUID(int=1)),
        )
    }
    assert len(texts) == len(statements._templates._entries) == 1


@pytest.mark.parametrize("path", ["/users", "/retention", "/ltv", "/events/properties"])
async def test_reads_use_only_statements_compiled_by_the_warm_up(path, tmp_path):
    async with run_deployment("duckdb", tmp_path) as served:
        shop = await served.workspace(
            currency="EUR", rules=AnalyticsSettings(conversions=frozenset({"lead"}))
        )
        statements = StatementCache(DuckDialect())
        compile_frequent_statements_once(statements)
        built = set(statements._templates._entries)
        served.service.ports.events._engine._statements = statements
        await shop.get(path, start_date="2026-06-01", end_date="2026-07-05")
        assert set(statements._templates._entries) == built


def test_statements_of_a_moment_evict_no_template():
    """A measure of elapsed days has the instant of its request, so no later request could use its text."""
    scope = EventBuilder().query_scope(whole_utc_days("2026-03-01", "2026-03-31"))
    elapsed = Predicate("timestamp", FilterOperator.LTE, scope.span.end)
    charges = count_rows(Relation.PAYMENTS)
    keys = [
        template_key_or_plain_arguments((AggregateQuery(scope, (measure,)), True))
        for measure in (charges, Ratio(charges.with_conditions(elapsed), charges))
    ]
    assert [is_uncacheable(key) for key in keys] == [False, True]
