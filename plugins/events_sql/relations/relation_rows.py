"""The relations of the core as FROM clauses with named columns.

A table is joined only when one of its columns is used. Columns are those of `Relation` in the core; an
unknown name raises ValueError.
"""

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, Final

import sqlalchemy as sa

from plugins.events_sql.identity.identity_resolution import join_and_return_person_number, join_person_id_text
from plugins.events_sql.identity.related_visitors import ORDER_EVENTS
from plugins.events_sql.relations.order_deduplication import superseded_conversion_seqs
from plugins.events_sql.relations.session_facts import (
    session_entries,
    session_facts,
    sessions_with_repeats,
    visitors_first_seen,
)
from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.schema.tables import ENTRY_COLUMNS, ENTRY_PREFIX, EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.compiled_sources import END, START, WORKSPACE, bind_parameters, compiled_source
from plugins.events_sql.sql.conditions import (
    ComparableValue,
    Expression,
    comparable_column,
    comparable_property,
    predicate_condition,
    property_label,
)
from plugins.events_sql.sql.event_kinds import is_conversion
from plugins.events_sql.sql.select_elements import CachedText
from plugins.events_sql.sql.time_spans import span_with_repeats
from service_core.plugin import (
    CHARGE_COMPONENTS,
    PROPERTY_OWNERS,
    Column,
    ColumnOwner,
    Condition,
    Predicate,
    QueryScope,
    TimeRange,
)

VISITOR_ID: Final = Column("visitor_id")
PERSON: Final = Column("person")


def unknown_column(column: Column | str) -> ValueError:
    """Returns the error of a column that a relation does not have."""
    return ValueError(f"no column {str(column)!r} in this relation")


class RelationRows:
    """The rows of a relation: conditions and a FROM clause that grows with the columns that are used.

    Attributes:
        at: the instant a row counts at.
        where: conditions of all rows.
        span: instants the underlying events lie in; None when rows count at another instant than their events.
    """

    at: Expression
    table: sa.FromClause
    span: TimeRange | None = None

    def __init__(self, scope: QueryScope) -> None:
        self.scope = scope
        self.where: list[Expression] = []
        self._from_clause: sa.FromClause = self.table
        self._joined_tables: dict[str, sa.FromClause] = {}
        self._conditions: dict[tuple[Condition, str], Expression] = {}

    @property
    def source(self) -> sa.FromClause:
        """The FROM clause; read it after all columns were requested."""
        return self._from_clause

    def column_with_fallbacks(self, column: Column) -> Expression:
        """Returns a column, or its first fallback that is set; NULL for a property that never is text.

        May join tables to `source`.
        """
        if column.owner in PROPERTY_OWNERS:
            text = self.predicate_value(column).text
            return sa.null() if text is None else text
        columns = [self.column_without_fallback(part) for part in column.candidates]
        return columns[0] if len(columns) == 1 else sa.func.coalesce(*columns)

    def distinct_key(self, column: Column) -> Expression:
        """Returns an expression that is distinct where the column is, and cheaper to count."""
        return self.column_with_fallbacks(column)

    def predicate_value(self, column: Column) -> ComparableValue:
        """Returns a column as predicates compare it."""
        if column.owner is ColumnOwner.PROPERTY:
            return comparable_property(self.event_data(), column.name)
        if column.owner is ColumnOwner.PROPERTY_LABEL:
            return comparable_column(property_label(self.event_data(), column.name))
        return comparable_column(self.column_with_fallbacks(column))

    def event_data(self) -> Expression:
        """Returns the properties of the row's event; may join tables to `source`."""
        return self.column_or_joined_fact("event_data")

    def cached_condition_joining_its_tables(self, condition: Condition) -> Expression:
        """Returns the SQL of a condition; the same one for an equal condition, which is compiled once per statement."""
        key = condition, repr(condition)  # 1, 1.0 and true are equal in Python
        if key not in self._conditions:
            self._conditions[key] = CachedText(self._condition_joining_its_tables(condition))
        return self._conditions[key]

    def _condition_joining_its_tables(self, condition: Condition) -> Expression:
        if isinstance(condition, Predicate):
            return predicate_condition(self.predicate_value(condition.column), condition)
        parts = (
            predicate_condition(self.predicate_value(part.column), part) for part in condition.conditions
        )
        return sa.not_(sa.func.coalesce(sa.and_(*parts), sa.false()))

    def column_without_fallback(self, column: Column) -> Expression:
        """Returns a column without its fallback."""
        if column.owner is ColumnOwner.ROW:
            return self.column_or_joined_fact(column.name)
        raise unknown_column(column)

    def column_or_joined_fact(self, name: str) -> Expression:
        """Returns a column of the row, or a fact about its session, visitor or person, whose table is joined.

        Raises:
            ValueError: the relation has no such column.
        """
        raise unknown_column(name)

    def scope_conditions(self) -> list[Expression]:
        """Returns the conditions of all rows and those of the scope's filters; may join tables to `source`."""
        filters = [self.cached_condition_joining_its_tables(predicate) for predicate in self.scope.filters]
        return [*self.where, *filters]

    def outer_join_once(
        self, alias: str, build_table: Callable[[], Any], join_condition: Callable[[Any], Expression]
    ) -> Any:
        """Outer joins a table under an alias, unless one is joined under it already, and returns the joined table."""
        if alias not in self._joined_tables:
            joined = build_table()
            self._joined_tables[alias] = joined
            self._from_clause = self._from_clause.outerjoin(joined, join_condition(joined))
        return self._joined_tables[alias]

    def join_session_entry_column(self, name: str, session_no: Expression) -> Expression:
        """Returns a column of the session's entry event; joins the sessions, and the event for a column they do not copy."""
        entry = self.outer_join_once(
            "entry", lambda: session_entries(self.scope), lambda s: s.c.session_no == session_no
        )
        if name in ENTRY_COLUMNS:
            return require_column(entry, ENTRY_PREFIX + name)
        first = self.outer_join_once(
            "entry_event",
            lambda: EVENTS.alias("entry_event"),
            lambda e: sa.and_(
                e.c.session_no == entry.c.session_no,
                e.c.seq == entry.c.entry_seq,
                e.c.timestamp == entry.c.entry_at,
            ),
        )
        return require_column(first, name)

    @cached_property
    def person_no(self) -> Expression:
        """The number of the row's person: a column of the table where it has one, else joined."""
        column_name = "person_no"
        return (
            self.table.c[column_name]
            if column_name in self.table.c
            else join_and_return_person_number(self, self.table)
        )

    def join_and_test_first_seen_in_scope_span(self, visitor_no: Expression) -> Expression:
        """Returns whether the visitor's first visit of all time lies in the scope's span; joins the visitors."""
        first = self.outer_join_once(
            "visitor", lambda: visitors_first_seen(self.scope), lambda v: v.c.visitor_no == visitor_no
        )
        return is_in_span(first.c.first_at, self.scope.span)


class EventRows(RelationRows):
    """The rows of EVENTS, and of CONVERSIONS over a narrower table with the same columns."""

    def __init__(self, scope: QueryScope, span: TimeRange, table: sa.FromClause = EVENTS) -> None:
        self.table = table
        self.at = table.c.timestamp
        self.span = span
        super().__init__(scope)
        self.where += [table.c.workspace_id == scope.workspace_id, *span_conditions(self.at, span)]
        if not scope.include_bots:
            self.where.append(sa.not_(table.c.is_bot))

    def distinct_key(self, column: Column) -> Expression:
        """Returns the numbers of visitors and persons instead of their texts."""
        if column == VISITOR_ID:
            return self.table.c.visitor_no
        return self.person_no if column == PERSON else self.column_with_fallbacks(column)

    def column_without_fallback(self, column: Column) -> Expression:
        """Returns a column of the row, or of the first event of its session."""
        if column.owner is ColumnOwner.ENTRY:
            return self.join_session_entry_column(column.name, self.table.c.session_no)
        return super().column_without_fallback(column)

    def column_or_joined_fact(self, name: str) -> Expression:
        """Returns a column of the event, or about its session, visitor or person."""
        if name == "session":
            return self.table.c.session_no
        if name == "visitor_is_new":
            return self.join_and_test_first_seen_in_scope_span(self.table.c.visitor_no)
        if name in {"person", "identified"}:
            id_text = join_person_id_text(self, self.person_no)
            return id_text if name == "person" else fn.TextStartsWith(id_text, sa.literal("u:"))
        return self._session_exit_page() if name == "exit_page" else require_column(self.table, name)

    def _session_exit_page(self) -> Expression:
        """Returns the last page of the session; joins the sessions."""
        entry = self.outer_join_once(
            "entry", lambda: session_entries(self.scope), lambda s: s.c.session_no == self.table.c.session_no
        )
        return require_column(entry, "exit_page")


class SessionRows(RelationRows):
    """The rows of SESSIONS."""

    def __init__(self, scope: QueryScope, span: TimeRange) -> None:
        self.table = session_facts(scope)
        self._span = span
        self.at = self.table.c.first_at
        super().__init__(scope)
        self.where += span_conditions(self.at, span)

    def distinct_key(self, column: Column) -> Expression:
        """Returns the number of the visitor instead of its text."""
        return self.table.c.visitor_no if column == VISITOR_ID else self.column_with_fallbacks(column)

    def column_without_fallback(self, column: Column) -> Expression:
        """Returns a fact of the session, or a column of its first event."""
        if column.owner is not ColumnOwner.ENTRY:
            return super().column_without_fallback(column)
        if column.name in ENTRY_COLUMNS:
            return require_column(self.table, ENTRY_PREFIX + column.name)
        return self.join_session_entry_column(column.name, self.table.c.session_no)

    def event_data(self) -> Expression:
        """Returns the properties of the entry event."""
        return self.join_session_entry_column("event_data", self.table.c.session_no)

    def column_or_joined_fact(self, name: str) -> Expression:
        """Returns a fact of the session."""
        if name == "visitor_is_new":
            return self.join_and_test_first_seen_in_scope_span(self.table.c.visitor_no)
        if name == "has_purchase":
            return sa.and_(self.table.c.has_purchase, self._has_besides_repeats("purchases"))
        if name == "engaged":
            converted = sa.and_(self.table.c.viewed_and_converted, self._has_besides_repeats("converts"))
            return sa.or_(self.table.c.engaged_by_visit, converted)
        if name not in {"visitor_id", "pageviews", "events", "duration", "bounced", "has_cart", "exit_page"}:
            return super().column_or_joined_fact(name)
        return require_column(self.table, name)

    def _has_besides_repeats(self, kind: str) -> Expression:
        """Returns whether the session has a conversion or purchase that repeats no order; true for one without repeats."""
        counted = self.outer_join_once(
            "with_repeats",
            lambda: sessions_with_repeats(self.scope, self._span),
            lambda s: s.c.session_no == self.table.c.session_no,
        )
        return sa.func.coalesce(counted.c[kind], sa.true(), type_=sa.Boolean)


_MAX_COLUMN_SETS: Final = 512
_ALWAYS_REQUIRED: Final = (
    *("timestamp", "seq", "event_name", "revenue", "currency", "order_id", "source", "is_bot", "from_device"),
    *("workspace_id", "visitor_id", "visitor_no", "strong_no", "session_no"),
    *("payment_id", "message_id", "is_storefront", *CHARGE_COMPONENTS),
)


@lru_cache(_MAX_COLUMN_SETS)
def required_columns(names: frozenset[str]) -> tuple[str, ...]:
    """Returns the event columns a source needs: some always, the others when a plan uses them."""
    return tuple(c.name for c in EVENTS.columns if c.name in _ALWAYS_REQUIRED or c.name in names)


def filter_columns(scope: QueryScope) -> frozenset[str]:
    """Returns the event columns that the filters of a scope use."""
    columns = (column for condition in scope.filters for column in condition.columns)
    used = (part for column in columns for part in column.candidates)
    return frozenset("event_data" if part.owner in PROPERTY_OWNERS else part.name for part in used)


def conversions_once_per_order(
    scope: QueryScope, span: TimeRange, *, selected_columns: frozenset[str] | None = None
) -> sa.FromClause:
    """Returns the conversions of a span; repeats of an order within 7 days are left out.

    Args:
        scope: the workspace, and which events convert.
        span: instants the conversions lie in.
        selected_columns: read only `related_visitors.ORDER_EVENTS`, with these columns; None reads all events, as
            engines skip columns that are not used.
    """
    names = (
        tuple(c.name for c in EVENTS.columns)
        if selected_columns is None
        else (*required_columns(selected_columns), *extra_columns(selected_only=True))
    )
    shape = (scope.conversions.any_revenue, selected_columns is not None, *names)
    return compiled_source(_conversions_once_per_order_query, *shape).as_subquery(
        "conversions", **bind_parameters(scope, span_with_repeats(span))
    )


def _conversions_once_per_order_query(
    any_revenue: bool, selected_only: bool, *column_names: str
) -> sa.Select[Any]:
    table = source_events(selected_only)
    c = table.c
    return (
        sa.select(*(c[name] for name in column_names))
        .where(c.workspace_id == WORKSPACE, c.timestamp >= START, c.timestamp < END)
        .where(is_conversion(c, any_revenue_converts=any_revenue))
        .where(c.seq.not_in(superseded_conversion_seqs(table, START.key, any_revenue=any_revenue)))
    )


def source_events(selected_only: bool) -> Any:
    """Returns the events to read: `related_visitors.ORDER_EVENTS` of selected persons, or all."""
    return ORDER_EVENTS if selected_only else EVENTS


def extra_columns(selected_only: bool) -> tuple[str, ...]:
    """Returns the columns of these events besides their own."""
    return ("person_no",) if selected_only else ()


def span_conditions(at: Expression, span: TimeRange) -> list[Expression]:
    """Returns the conditions that an instant lies in a span."""
    return [at >= sa.literal(to_naive_utc(span.start)), at < sa.literal(to_naive_utc(span.end))]


def is_in_span(at: Expression, span: TimeRange) -> Expression:
    """Returns a boolean expression for an instant in a span; false for NULL."""
    return sa.func.coalesce(sa.and_(*span_conditions(at, span)), sa.false())


def require_column(table: Any, name: str) -> Expression:
    """Returns a column of a table.

    Raises:
        ValueError: the table has no such column.
    """
    if name not in table.c:
        raise unknown_column(name)
    column: Expression = table.c[name]
    return column
