"""Counts distinct visitors and sessions of a span from the session table, without reading every event.

A session that starts or ends in the span has an event there. Only for sessions that start before and end
after the span the events are read.
"""

from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.relations.relation_rows import VISITOR_ID, RelationRows
from plugins.events_sql.schema.tables import ENTRY_COLUMNS, ENTRY_PREFIX, EVENTS, SESSIONS
from plugins.events_sql.sql.compiled_sources import END, START, WORKSPACE, bind_parameters, compiled_source
from plugins.events_sql.sql.conditions import Expression
from service_core.plugin import (
    IS_VISIT_EVENT,
    AggregateQuery,
    Aggregation,
    Column,
    ColumnOwner,
    Condition,
    QueryScope,
    Relation,
    TimeRange,
)

_NUMBER_COLUMNS: Final = {VISITOR_ID: "visitor_no", Column("session"): "session_no"}
_VISITOR_IS_NEW: Final = Column("visitor_is_new")
_EXIT_PAGE: Final = Column("exit_page")


def is_countable_from_sessions(plan: AggregateQuery, aggregation: Aggregation) -> bool:
    """Returns whether an aggregation counts visitors or sessions and uses only columns of the session table."""
    if (
        aggregation.relation is not Relation.EVENTS
        or not aggregation.distinct
        or IS_VISIT_EVENT not in aggregation.where
        or aggregation.trailing_days is not None
    ):
        return False
    if aggregation.column not in _NUMBER_COLUMNS or plan.buckets or plan.scope.include_bots:
        return False
    predicates = (*plan.scope.filters, *(p for p in aggregation.where if p != IS_VISIT_EVENT))
    compared = [column for condition in predicates for column in condition.columns]
    columns = compared + [d.get(Relation.EVENTS) for d in plan.dimensions]
    return all(_is_session_column(part) for column in columns if column for part in column.candidates)


def _is_session_column(column: Column) -> bool:
    is_entry_column = column.owner is ColumnOwner.ENTRY and column.name in ENTRY_COLUMNS
    return column in (_VISITOR_IS_NEW, _EXIT_PAGE) or is_entry_column


class SessionCountRows(RelationRows):
    """The rows of EVENTS for aggregations that are `is_countable_from_sessions`: one row per session, or a few."""

    def __init__(self, scope: QueryScope, span: TimeRange) -> None:
        self.table = compiled_source(_sessions_with_event_in_span).as_subquery(
            "present", **bind_parameters(scope, span)
        )
        self.at = self.table.c.first_at
        super().__init__(scope)

    def distinct_key(self, column: Column) -> Expression:
        """Returns the number of the visitor or session."""
        return self.table.c[_NUMBER_COLUMNS[column]]

    def cached_condition_joining_its_tables(self, condition: Condition) -> Expression:
        """Returns the SQL of a condition; all rows are of visits."""
        return (
            sa.true()
            if condition == IS_VISIT_EVENT
            else super().cached_condition_joining_its_tables(condition)
        )

    def column_without_fallback(self, column: Column) -> Expression:
        """Returns a column of the session's first event, or about its visitor."""
        if column == _VISITOR_IS_NEW:
            return self.join_and_test_first_seen_in_scope_span(self.table.c.visitor_no)
        return self.table.c["exit_page" if column == _EXIT_PAGE else ENTRY_PREFIX + column.name]


def _sessions_with_event_in_span() -> sa.CompoundSelect[Any]:
    c = SESSIONS.c
    of_visits = (c.workspace_id == WORKSPACE, sa.not_(c.is_bot), c.from_device)
    conditions = (*of_visits, c.first_at < END, c.last_at >= START)
    facts = (c.visitor_no, c.session_no, c.first_at, c.exit_page)
    columns = [*facts, *(c[ENTRY_PREFIX + name] for name in ENTRY_COLUMNS)]
    settled = sa.select(*columns).where(*conditions, sa.or_(c.first_at >= START, c.last_at < END))
    reaching_over = (
        sa.select(*columns)
        .join_from(SESSIONS, EVENTS, EVENTS.c.session_no == c.session_no)
        .where(*conditions, c.first_at < START, c.last_at >= END)
        .where(EVENTS.c.workspace_id == WORKSPACE, sa.not_(EVENTS.c.is_bot))
        .where(EVENTS.c.timestamp >= START, EVENTS.c.timestamp < END, EVENTS.c.from_device)
    )
    return sa.union_all(settled, reaching_over)
