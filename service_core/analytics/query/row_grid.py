"""Evaluates aggregations in Python, over rows that a source has already read."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, Final, TypeAlias

from service_core.analytics.measures import Aggregation, Column, Condition, Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult
from service_core.analytics.query.evaluate_predicate import condition_matches

Row: TypeAlias = Mapping[str, Any]
"""Values of a relation by column. ``rows`` is the number of rows the values are sums of; 1 where it is absent."""

_ROW_COUNT: Final = "rows"


class RowGrid:
    """Adds up rows of one relation by bucket and dimension values.

    Args:
        query: measures over the relation.
        relation: whose columns the dimensions are.

    Attributes:
        aggregations: the different aggregations of the measures, in order of first appearance.
        session_and_touch_columns_by_relation: the column of each dimension.
    """

    def __init__(self, query: AggregateQuery, relation: Relation) -> None:
        self.aggregations: tuple[Aggregation, ...] = tuple(
            dict.fromkeys(aggregation for measure in query.measures for aggregation in measure.aggregations())
        )
        self.session_and_touch_columns_by_relation = tuple(columns[relation] for columns in query.dimensions)
        self._filters = query.scope.filters
        self._has_buckets = bool(query.buckets)
        self._cells: dict[tuple[Any, ...], dict[Aggregation, Any]] = {}

    def names_of_used_columns(self, aggregations: Iterable[Aggregation] | None = None) -> frozenset[str]:
        """Returns the columns that dimensions, filters and aggregations read.

        Args:
            aggregations: those to look at; None for all.
        """
        chosen = self.aggregations if aggregations is None else tuple(aggregations)
        conditions = (
            *self._filters,
            *(condition for aggregation in chosen for condition in aggregation.where),
        )
        columns = (
            *self.session_and_touch_columns_by_relation,
            *(column for condition in conditions for column in condition.columns),
            *(aggregation.column for aggregation in chosen if aggregation.column is not None),
        )
        return frozenset(part.name for column in columns for part in column.candidates)

    def add_row_if_counted(
        self,
        row: Row,
        bucket: datetime | None = None,
        *,
        aggregations: Iterable[Aggregation] | None = None,
        skip_zeros: bool = False,
    ) -> None:
        """Adds a row to its cell. A row that no aggregation counts makes no cell.

        Args:
            row: one row, or sums of several.
            bucket: start of its bucket; ignored if the query has no buckets.
            aggregations: those that may count the row; None for all.
            skip_zeros: make no cell for a row that adds nothing but zeros.
        """
        values = {
            aggregation: _row_value_or_distinct_set(row, aggregation)
            for aggregation in (self.aggregations if aggregations is None else aggregations)
            if matches_all(row, (*self._filters, *aggregation.where))
        }
        if not values or (skip_zeros and not any(values.values())):
            return
        prefix = (bucket,) if self._has_buckets else ()
        key = (
            *prefix,
            *(_column_value(row, column) for column in self.session_and_touch_columns_by_relation),
        )
        cell = self._cells.setdefault(key, {})
        for aggregation, value in values.items():
            cell[aggregation] = _combine(cell.get(aggregation), value)

    def to_result_with_zero_row_if_ungrouped(self) -> AggregateResult:
        """Returns one row per cell; without buckets and dimensions exactly one row."""
        rows = [
            (*key, *(_to_number(cell.get(aggregation)) for aggregation in self.aggregations))
            for key, cell in self._cells.items()
        ]
        width = len(self.aggregations)
        if not rows and not self._has_buckets and not self.session_and_touch_columns_by_relation:
            rows = [(0,) * width]
        totals = tuple(sum(row[position - width] for row in rows) for position in range(width))
        return AggregateResult(rows, self.aggregations, len(rows), totals)


def bucket_edges_within_span(
    query: AggregateQuery, latest_edge: datetime | None = None
) -> tuple[datetime, ...]:
    """Returns the starts of the buckets of a query and the end of the last, all within its time range.

    Args:
        query: without buckets its whole time range is one.
        latest_edge: upper bound of the edges, if it is before the end of the time range.
    """
    span, buckets = query.scope.span, query.buckets
    end = span.end if latest_edge is None else min(span.end, latest_edge)
    bounds = (*buckets.starts, buckets.end) if buckets else (span.start, span.end)
    return tuple(min(max(bound, span.start), end) for bound in bounds)


def aggregate_row(row: Row, aggregation: Aggregation) -> Any:
    """Returns the value of an aggregation over one row; 0 for a row that does not meet its conditions."""
    return (
        _to_number(_row_value_or_distinct_set(row, aggregation)) if matches_all(row, aggregation.where) else 0
    )


def matches_all(row: Row, conditions: Iterable[Condition]) -> bool:
    """Returns whether a row meets all conditions."""
    return all(
        condition_matches(condition, lambda column: _comparable(_column_value(row, column)))
        for condition in conditions
    )


def _column_value(row: Row, column: Column) -> Any:
    """Returns the value of a column, else that of its fallback."""
    return next((row[part.name] for part in column.candidates if row[part.name] is not None), None)


def _comparable(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _row_value_or_distinct_set(row: Row, aggregation: Aggregation) -> Any:
    """Returns what a row adds: a number, or for a distinct count the set of its value."""
    if aggregation.column is None:
        return row.get(_ROW_COUNT, 1)
    value = _column_value(row, aggregation.column)
    if aggregation.distinct:
        return frozenset({value} - {None})
    return value or 0


def _combine(total: Any, value: Any) -> Any:
    if total is None:
        return value
    return total | value if isinstance(value, frozenset) else total + value


def _to_number(value: Any) -> Any:
    return len(value) if isinstance(value, frozenset) else value or 0
