"""One scan of a relation that evaluates all aggregations of an aggregate that count it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final, NamedTuple

import sqlalchemy as sa

from plugins.events_sql.attribution.attribution_credits import CreditRows, credits_table
from plugins.events_sql.attribution.touches import first_touch_per_person
from plugins.events_sql.reads.payment_products import COLUMNS_OF_PARTS, ProductPartRows
from plugins.events_sql.reads.shared_payments import (
    PAYMENTS_TABLE,
    PaymentColumns,
    first_touches_of_payers,
)
from plugins.events_sql.relations.charges_and_refunds import (
    PaymentRows,
    reads_payments_of_span_only,
)
from plugins.events_sql.relations.order_counts import ORDER_COUNT_COLUMNS
from plugins.events_sql.relations.relation_rows import (
    EventRows,
    RelationRows,
    SessionRows,
    conversions_once_per_order,
)
from plugins.events_sql.relations.session_counts import (
    SessionCountRows,
    is_countable_from_sessions,
)
from plugins.events_sql.schema.tables import EVENTS
from plugins.events_sql.sql import functions as fn
from plugins.events_sql.sql.conditions import Expression
from plugins.events_sql.sql.select_elements import ConstantText, FilteredAggregate, GroupedSelect
from plugins.events_sql.sql.time_buckets import bucket_index, local_day_buckets, trailing_window_per_bucket
from service_core.plugin import (
    PROPERTY_OWNERS,
    AggregateQuery,
    Aggregation,
    Column,
    ColumnOwner,
    Condition,
    QueryScope,
    Relation,
    TimeRange,
    counts_items_instead_of_payments,
)

BUCKET_COLUMN: Final = "b"
_ZERO: Final = ConstantText(sa.literal_column("0", sa.BigInteger))
_ALL_ROWS: Final = ConstantText(sa.literal_column("*"))
_ORIGIN_OWNERS: Final = frozenset({ColumnOwner.ENTRY, *PROPERTY_OWNERS})
_BOOLEAN_COLUMNS: Final = frozenset(
    {"visitor_is_new", "person_is_new"}
    | {column.name for column in EVENTS.c if isinstance(column.type, sa.Boolean)}
)


def group_columns(plan: AggregateQuery) -> list[str]:
    """Returns the names of the columns that make up a group, in order."""
    bucket = [BUCKET_COLUMN] if plan.buckets else []
    return [*bucket, *(f"d{i}" for i in range(len(plan.dimensions)))]


def holds_truth_values(dimension: Mapping[str, Column]) -> bool:
    """Returns whether the columns of a dimension are booleans; others are texts."""
    names = {part.name for column in dimension.values() for part in column.candidates}
    return not names.isdisjoint(_BOOLEAN_COLUMNS)


def _null_of_dimension(dimension: Mapping[str, Column]) -> Expression:
    """Returns null in the type of a dimension's columns, for the rows of a relation that has none of them."""
    return sa.cast(sa.null(), sa.Boolean if holds_truth_values(dimension) else sa.Text)


class RequiredCreditsTable(NamedTuple):
    """A table of credits that a statement reads (`attribution_credits.credits_table`)."""

    trailing_days: int | None
    span: TimeRange
    with_first_orders: bool


@dataclass(frozen=True)
class RelationScan:
    """The aggregations of a plan that share a relation, a number of trailing days and a kind of rows.

    Attributes:
        aggregations: all aggregations of the plan; the scan returns 0 for those that are not ``counted``.
        counted: indexes of the aggregations it evaluates.
        may_be_of_providers: whether payments may be reported by revenue providers.
        shared_payments: the columns of the table of payments to read (`shared_payments`); None computes the payments.
    """

    plan: AggregateQuery
    aggregations: Sequence[Aggregation]
    counted: Sequence[int]
    may_be_of_providers: bool = True
    shared_payments: PaymentColumns | None = None

    def grouped_statement(self) -> GroupedSelect:
        """Returns the SELECT of all groups that any aggregation has rows in, with the values of all aggregations."""
        if self._trailing_windows and self.plan.buckets:
            return self._trailing_window_statement()
        bucket = (
            [bucket_index(self._scanned_rows.at, self.plan.buckets.runs_of_equal_length())]
            if self.plan.buckets
            else []
        )
        values = [
            self._aggregate_value(i) if i in self.counted else _ZERO for i in range(len(self.aggregations))
        ]
        group = dict(zip(group_columns(self.plan), [*bucket, *self._dimension_columns], strict=True))
        where = self._conditions_of_any_aggregation()
        return GroupedSelect(
            {**group, **_value_columns(values)}, self._scanned_rows.source, where, len(group)
        )

    @property
    def _relation(self) -> Relation:
        return self.aggregations[self.counted[0]].relation

    def required_credits_table(self) -> "RequiredCreditsTable | None":
        """Returns which table of credits the statement reads; None for another relation."""
        if self._relation is not Relation.CREDITS or self.plan.credit is None:
            return None
        return RequiredCreditsTable(
            self._trailing_days, self._span_covering_trailing_windows, self._uses_column("first_order")
        )

    def span_of_payments(self) -> TimeRange | None:
        """Returns the span whose payments it counts; None for another relation, or when they depend on events of all time."""
        if (
            self._relation is not Relation.PAYMENTS
            or not reads_payments_of_span_only(self.plan.scope)
            or any(map(self._uses_column, ("first_order", *ORDER_COUNT_COLUMNS)))
            or self._uses_origins
            or self._reads_shared_payments
        ):
            return None
        return self._span_covering_trailing_windows

    def needed_payment_columns(self) -> PaymentColumns | None:
        """Returns which columns of the payments of the plan's span it needs; None for other rows."""
        if self._relation is not Relation.PAYMENTS or self._trailing_days is not None:
            return None
        return PaymentColumns(
            with_first_orders=self._uses_column("first_order"),
            with_order_counts=any(map(self._uses_column, ORDER_COUNT_COLUMNS)),
            with_fees=self._uses_column("fee"),
            with_origins=self._uses_origins,
            with_first_touches=any(column.owner is ColumnOwner.TOUCH for column in self._used_columns),
        )

    @property
    def _reads_shared_payments(self) -> bool:
        return self.shared_payments is not None and self.needed_payment_columns() is not None

    @property
    def _trailing_days(self) -> int | None:
        return self.aggregations[self.counted[0]].trailing_days

    @cached_property
    def _trailing_windows(self) -> list[tuple[int, TimeRange]]:
        """The days that each bucket of a trailing measure covers; empty for other measures."""
        days = self._trailing_days
        return [] if days is None else trailing_window_per_bucket(self.plan.scope, self.plan.buckets, days)

    @property
    def _span_covering_trailing_windows(self) -> TimeRange:
        if not self._trailing_windows:
            return self.plan.scope.span
        return TimeRange(
            min(w.start for _, w in self._trailing_windows), max(w.end for _, w in self._trailing_windows)
        )

    @cached_property
    def _scanned_rows(self) -> RelationRows:
        scope, span = self.plan.scope, self._span_covering_trailing_windows
        if self._relation is Relation.CREDITS and self.plan.credit:
            return CreditRows(scope, span, credits_table(self._trailing_days))
        if is_countable_from_sessions(self.plan, self.aggregations[self.counted[0]]):
            return SessionCountRows(scope, span)
        if self._relation is Relation.PAYMENTS:
            return self._payment_rows(scope, span)
        return _rows_counting_in_span(self._relation, scope, span)

    def _payment_rows(self, scope: QueryScope, span: TimeRange) -> RelationRows:
        with_parts = any(map(self._uses_column, COLUMNS_OF_PARTS))
        rows = partial(ProductPartRows, with_parts=with_parts) if self._splits_by_product else PaymentRows
        if self.shared_payments is not None and self._reads_shared_payments:
            options = self.shared_payments.row_options()
            return rows(
                scope, span, **options, stored_as=PAYMENTS_TABLE, first_touches=first_touches_of_payers
            )
        return rows(
            scope,
            span,
            with_first_orders=self._uses_column("first_order"),
            with_order_counts=any(map(self._uses_column, ORDER_COUNT_COLUMNS)),
            with_fees=self._uses_column("fee"),
            with_origins=self._uses_origins,
            may_be_of_providers=self.may_be_of_providers or self.span_of_payments() is None,
            first_touches=first_touch_per_person,
        )

    def _uses_column(self, column_name: str) -> bool:
        """Returns whether a filter, aggregation or dimension uses a column."""
        return any(column.name == column_name for column in self._used_columns)

    @property
    def _uses_origins(self) -> bool:
        """Returns whether a filter, aggregation or dimension uses the session, properties or products of payments."""
        return self._splits_by_product or any(column.owner in _ORIGIN_OWNERS for column in self._used_columns)

    @property
    def _splits_by_product(self) -> bool:
        return counts_items_instead_of_payments(self.plan, self.aggregations[self.counted[0]])

    @cached_property
    def _used_columns(self) -> frozenset[Column]:
        predicates = [
            *self.plan.scope.filters,
            *(p for i in self.counted for p in self.aggregations[i].where),
        ]
        counted = (self.aggregations[i].column for i in self.counted)
        grouped = (dimension.get(self._relation) for dimension in self.plan.dimensions)
        columns = (*(column for p in predicates for column in p.columns), *counted, *grouped)
        return frozenset(part for column in columns if column for part in column.candidates)

    @cached_property
    def _dimension_columns(self) -> list[Expression]:
        return [
            self._scanned_rows.column_with_fallbacks(dimension[self._relation])
            if self._relation in dimension
            else _null_of_dimension(dimension)
            for dimension in self.plan.dimensions
        ]

    @cached_property
    def _common_predicates(self) -> tuple[Condition, ...]:
        """The predicates that all aggregations share, which become conditions of the scan."""
        first, *others = (self.aggregations[i].where for i in self.counted)
        return tuple(p for p in first if all(p in where for where in others))

    @cached_property
    def _own_conditions_by_aggregation(self) -> dict[int, list[Expression]]:
        """The conditions that only some aggregations have, by aggregation."""
        own_predicates = {
            i: [p for p in self.aggregations[i].where if p not in self._common_predicates]
            for i in self.counted
        }
        return {
            i: [*map(self._scanned_rows.cached_condition_joining_its_tables, predicates)]
            for i, predicates in own_predicates.items()
            if predicates
        }

    @cached_property
    def _combined_condition_by_aggregation(self) -> dict[int, Expression]:
        return {i: sa.and_(*conditions) for i, conditions in self._own_conditions_by_aggregation.items()}

    def _conditions_of_any_aggregation(self) -> list[Expression]:
        """Returns the conditions of rows that any aggregation counts."""
        where = [
            *map(
                self._scanned_rows.cached_condition_joining_its_tables,
                (*self.plan.scope.filters, *self._common_predicates),
            )
        ]
        if len(self._own_conditions_by_aggregation) == len(self.counted):
            where.append(sa.or_(*self._conditions_not_implied_by_others()))
        return [*self._scanned_rows.where, *where]

    def _conditions_not_implied_by_others(self) -> list[Expression]:
        """Returns the conditions of the aggregations, without those implied by the conditions of another aggregation."""
        sets = {
            frozenset(conditions): self._combined_condition_by_aggregation[i]
            for i, conditions in self._own_conditions_by_aggregation.items()
        }
        return [condition for one, condition in sets.items() if not any(other < one for other in sets)]

    def _aggregate_value(self, aggregation_index: int) -> Expression:
        """Returns the aggregate of an aggregation over the rows that meet its conditions."""
        aggregation, condition = (
            self.aggregations[aggregation_index],
            self._combined_condition_by_aggregation.get(aggregation_index),
        )
        if aggregation.column is None:
            return convert_total(FilteredAggregate("count(", _ALL_ROWS, condition), aggregation)
        if aggregation.distinct:
            return convert_total(
                FilteredAggregate(
                    "count(DISTINCT ", self._scanned_rows.distinct_key(aggregation.column), condition
                ),
                aggregation,
            )
        return convert_total(
            FilteredAggregate(
                "sum(", _as_summand(self._scanned_rows.column_with_fallbacks(aggregation.column)), condition
            ),
            aggregation,
        )

    def _trailing_window_statement(self) -> GroupedSelect:
        """Returns the SELECT of a trailing measure: each row counts in all buckets whose window contains it."""
        rows, ranges = self._row_values_by_local_day(), self._local_day_range_per_bucket()
        values = [
            _trailing_value(aggregation, rows.c[f"v{i}"]) if i in self.counted else _ZERO
            for i, aggregation in enumerate(self.aggregations)
        ]
        group = {BUCKET_COLUMN: ranges.c.b, **{key: rows.c[key] for key in group_columns(self.plan)[1:]}}
        joined = rows.join(ranges, sa.and_(rows.c.day >= ranges.c.first, rows.c.day <= ranges.c.last))
        return GroupedSelect({**group, **_value_columns(values)}, joined, (), len(group))

    def _row_values_by_local_day(self) -> sa.Subquery:
        """Returns the values of rows for the aggregations by local day, without duplicates when all aggregations count distinct keys."""
        values = [self._row_value(i).label(f"v{i}") for i in self.counted]
        days = local_day_buckets(self.plan.scope, self._span_covering_trailing_windows).runs_of_equal_length()
        group = zip(group_columns(self.plan)[1:], self._dimension_columns, strict=True)
        columns = [
            bucket_index(self._scanned_rows.at, days).label("day"),
            *(c.label(key) for key, c in group),
        ]
        where = self._conditions_of_any_aggregation()
        query = sa.select(*columns, *values).select_from(self._scanned_rows.source).where(*where)
        all_distinct = all(self.aggregations[i].distinct for i in self.counted)
        return (query.distinct() if all_distinct else query).subquery("seen")

    def _row_value(self, aggregation_index: int) -> Expression:
        """Returns the value of a row for an aggregation: its distinct key, its number or 1."""
        aggregation, condition = (
            self.aggregations[aggregation_index],
            self._combined_condition_by_aggregation.get(aggregation_index),
        )
        if aggregation.column is None:
            value: Expression = sa.literal_column("1", sa.BigInteger)
        else:
            value = (
                self._scanned_rows.distinct_key(aggregation.column)
                if aggregation.distinct
                else _as_number(self._scanned_rows.column_with_fallbacks(aggregation.column))
            )
        return value if condition is None else sa.case((condition, value))

    def _local_day_range_per_bucket(self) -> sa.Subquery:
        """Returns the first and last local day of each bucket's window."""
        days = local_day_buckets(self.plan.scope, self._span_covering_trailing_windows)
        ends = (*days.starts[1:], days.end)
        columns_by_name = {
            "b": [index for index, _ in self._trailing_windows],
            "first": [days.starts.index(window.start) for _, window in self._trailing_windows],
            "last": [ends.index(window.end) for _, window in self._trailing_windows],
        }
        integers = sa.ARRAY(sa.BigInteger)
        places = sa.literal(list(range(1, len(self._trailing_windows) + 1)), integers)
        place = sa.select(fn.Unnest(places).label("place")).subquery("places").c.place
        columns = (
            fn.ElementAt(sa.literal(values, integers), place).label(name)
            for name, values in columns_by_name.items()
        )
        return sa.select(*columns).subquery("windows")


def _value_columns(values: Sequence[Expression]) -> dict[str, Expression]:
    return {f"m{i}": value for i, value in enumerate(values)}


def _as_number(column: Expression) -> Expression:
    return sa.cast(column, sa.Integer) if isinstance(column.type, sa.Boolean) else column


def _as_summand(column: Expression) -> Expression:
    number = _as_number(column)
    return fn.Summand(number) if isinstance(number.type, sa.BigInteger) else number


def _trailing_value(aggregation: Aggregation, day_value: Expression) -> Expression:
    return convert_total(
        sa.func.count(day_value.distinct()) if aggregation.distinct else sa.func.sum(day_value), aggregation
    )


_DURATION: Final = Column("duration")


def is_duration(aggregation: Aggregation) -> bool:
    """Returns whether an aggregation sums durations."""
    return aggregation.column == _DURATION and not aggregation.distinct


def convert_total(summed: Expression, aggregation: Aggregation) -> Expression:
    """Returns a count or sum as an integer, and a sum of durations in seconds instead of microseconds."""
    if is_duration(aggregation):
        return sa.cast(fn.IntegerOrZero(summed), sa.Double) / sa.literal_column("1e6", sa.Double)
    return fn.IntegerOrZero(summed)


def _rows_counting_in_span(relation: Relation, scope: QueryScope, span: TimeRange) -> RelationRows:
    """Returns the rows of a relation of events or sessions that count in a span.

    Args:
        relation: a relation of this store.
        scope: workspace, bots and conversions; its span defines which visitors are new.
        span: instants the rows lie in.
    """
    match relation:
        case Relation.EVENTS:
            return EventRows(scope, span)
        case Relation.CONVERSIONS:
            return EventRows(scope, span, conversions_once_per_order(scope, span))
        case Relation.SESSIONS:
            return SessionRows(scope, span)
        case _:
            raise ValueError(f"an event store has no {relation} for this plan")
