"""Compiles frequent statements when a store opens, so that the first requests need not.

They are the statements of API requests with a date range and no other parameters; other requests find
most of their row sources compiled.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final
from uuid import UUID

from plugins.events_sql.attribution.attribution_credits import create_credits_table, credits_table
from plugins.events_sql.execution.statement_cache import DeferredStatement, Statement, StatementCache
from plugins.events_sql.reads.aggregate import aggregate_statement
from plugins.events_sql.reads.cohorts import evaluate_cohorts
from plugins.events_sql.reads.event_queries import list_property_keys_by_event
from plugins.events_sql.reads.funnels.funnel_sql import ordered_funnel_statement
from plugins.events_sql.reads.people.people_list import (
    create_matching_persons_table,
    read_page_of_matching_persons,
)
from plugins.events_sql.reads.people.person_journey import read_person_activity
from service_core.plugin import (
    AggregateQuery,
    Buckets,
    BucketUnit,
    CohortReaderQuery,
    ConversionSet,
    CreditRule,
    FunnelReaderQuery,
    PeoplePageQuery,
    PersonActivityQuery,
    Predicate,
    QueryScope,
    Relation,
    TimeRange,
    Weighting,
    count_distinct,
    count_rows,
    entry_column,
    sum_column,
)

_START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SPAN: Final = TimeRange(_START, _START + timedelta(days=30))
_WARM_UP_SCAN: Final = QueryScope(UUID(int=0), _SPAN, "USD", "UTC", ConversionSet(frozenset()))
_LAST_TOUCH_RULE: Final = CreditRule(Weighting.LAST, timedelta(days=30), ignore_direct=True)
_CREDIT_RULES: Final = (
    _LAST_TOUCH_RULE,
    *(
        replace(_LAST_TOUCH_RULE, weighting=weighting)
        for weighting in (Weighting.LINEAR, Weighting.POSITION_BASED, Weighting.TIME_DECAY)
    ),
    *(
        replace(_LAST_TOUCH_RULE, weighting=weighting, ignore_direct=False)
        for weighting in (Weighting.FIRST, Weighting.LAST)
    ),
)
_MEASURES: Final = (
    (count_rows(Relation.EVENTS), count_distinct("person", Relation.EVENTS)),
    (
        count_distinct("visitor_id", Relation.EVENTS),
        count_rows(Relation.SESSIONS),
        count_rows(Relation.CONVERSIONS),
    ),
    (sum_column("amount", Relation.PAYMENTS), count_distinct("person", Relation.PAYMENTS)),
    (count_distinct("person", Relation.PAYMENTS, Predicate("first_order", value=True)),),
    (count_rows(Relation.CREDITS, Predicate("first_order", value=True)),),
)
_CREDITS: Final = tuple(sum_column(name, Relation.CREDITS) for name in ("credit", "amount"))
_PAGE_VIEW_NAMES: Final = frozenset({"page_view"})
_FUNNEL_SHAPES: Final = tuple(
    (steps, excluded) for steps in (2, 3, 4, 5) for excluded in (None, _PAGE_VIEW_NAMES)
)
_MAX_PROPERTY_KEYS: Final = 100
_CHANNEL_DIMENSION: Final = {
    "events": entry_column("channel"),
    "sessions": entry_column("channel"),
    "conversions": entry_column("channel"),
}


class _CompileOnlyRunner:
    """A statement runner that compiles statements and returns no rows."""

    def __init__(self, statements: StatementCache) -> None:
        self._statements = statements

    def fetch_rows(self, statement: Statement | DeferredStatement) -> list[Any]:
        """Compiles the statement; returns no rows."""
        self._statements.render_from_cache(statement)
        return []

    def begin_snapshot(self) -> None:
        """Does nothing: no statement runs."""

    def create_temp_table(self, _: str, statement: Statement | DeferredStatement) -> None:
        """Compiles the statement."""
        self._statements.render_from_cache(statement)


@cache
def compile_frequent_statements_once(statements: StatementCache) -> None:
    """Compiles nearly all row sources and the frequent reads, once per statement cache."""
    compiling_runner: Any = _CompileOnlyRunner(statements)
    for measures in _MEASURES:
        for may_be_of_providers in (True, False):
            plan = AggregateQuery(_WARM_UP_SCAN, measures, credit=_LAST_TOUCH_RULE)
            compiling_runner.fetch_rows(aggregate_statement(plan, may_be_of_providers=may_be_of_providers))
    for rule in _CREDIT_RULES:
        create_credits_table(credits_table(), _WARM_UP_SCAN, rule, compiling_runner, with_first_orders=False)
    compiling_runner.fetch_rows(
        aggregate_statement(AggregateQuery(_WARM_UP_SCAN, _CREDITS, credit=_LAST_TOUCH_RULE))
    )
    compiling_runner.fetch_rows(
        aggregate_statement(AggregateQuery(_WARM_UP_SCAN, _MEASURES[1], (_CHANNEL_DIMENSION,)))
    )
    for steps, excluded in _FUNNEL_SHAPES:
        funnel = FunnelReaderQuery(
            _WARM_UP_SCAN, (_PAGE_VIEW_NAMES,) * steps, timedelta(days=7), _SPAN.end, exclude=excluded
        )
        compiling_runner.fetch_rows(ordered_funnel_statement(funnel))
    list_property_keys_by_event(_WARM_UP_SCAN, _MAX_PROPERTY_KEYS, compiling_runner)
    page = PeoplePageQuery(_WARM_UP_SCAN, limit=50, offset=0, sort="last_seen")
    create_matching_persons_table(page, compiling_runner)
    read_page_of_matching_persons(page, compiling_runner)
    read_person_activity(PersonActivityQuery(_WARM_UP_SCAN, "", timedelta(days=30), 1), compiling_runner)
    for unit, length in ((BucketUnit.DAY, timedelta(days=1)), (BucketUnit.WEEK, timedelta(weeks=1))):
        series = Buckets(unit, (_START,), _START + length)
        evaluate_cohorts(CohortReaderQuery(_WARM_UP_SCAN, series, series), compiling_runner)
