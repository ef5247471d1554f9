"""Compiles dimension filters, whose values are labels, into predicates on the columns of a relation."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from service_core.analytics.measures import (
    Column,
    FilterOperator,
    NotAll,
    Operand,
    Predicate,
    Relation,
    Scalar,
)
from service_core.analytics.query.catalog import Dimension
from service_core.analytics.query.evaluate_predicate import value_matches
from service_core.analytics.query.models import DimensionFilter

MATCHES_NOTHING: Final = None
"""Result of filters that no row of the relation can meet."""

_NEGATIVE_OPERATORS: Final = frozenset(
    {FilterOperator.NEQ, FilterOperator.NOT_IN, FilterOperator.NOT_CONTAINS}
)
_LIST_OPERATOR_FOR: Final = {
    FilterOperator.EQ: FilterOperator.IN,
    FilterOperator.NEQ: FilterOperator.NOT_IN,
    FilterOperator.IN: FilterOperator.IN,
    FilterOperator.NOT_IN: FilterOperator.NOT_IN,
}


def compile_filters_or_none_if_unmatchable(
    filters: Iterable[DimensionFilter], dimensions_by_id: Mapping[str, Dimension], relation: Relation
) -> tuple[Predicate, ...] | None:
    """Returns the filters as predicates on one relation; `MATCHES_NOTHING` if no row can meet them."""
    predicates: list[Predicate] = []
    for condition in filters:
        dimension = dimensions_by_id[condition.dimension]
        column = dimension.columns.get(relation)
        if column is None:
            if not _absent_value_meets_condition(condition, dimension):
                return MATCHES_NOTHING
        elif condition.op in _LIST_OPERATOR_FOR or dimension.labels:
            op = _LIST_OPERATOR_FOR.get(condition.op, FilterOperator.IN)
            values = _column_values_meeting_condition(condition, dimension)
            if values:
                predicates.append(_list_condition_or_comparison_if_single(column, op, values))
            elif op is FilterOperator.IN:
                return MATCHES_NOTHING
        else:
            predicates.append(Predicate(column, condition.op, _operand_as_text(condition.value)))
    return tuple(predicates)


def conditions_outside_groups_or_none_if_unmatchable(
    groups: Iterable[tuple[str, ...]], dimensions: Sequence[Dimension], relation: Relation
) -> tuple[NotAll, ...] | None:
    """Returns the conditions of rows of one relation that are in none of several groups.

    Args:
        groups: the labels of each group, one per dimension.
        dimensions: the dimensions.
        relation: the relation of the rows.

    Returns:
        `MATCHES_NOTHING` if every row is in one of the groups.
    """
    outside: list[NotAll] = []
    for labels in sorted(groups):
        inside = _conditions_of_group_or_none_without_rows(labels, dimensions, relation)
        if inside == ():
            return MATCHES_NOTHING
        if inside is not None:
            outside.append(NotAll(inside))
    return tuple(outside)


def _conditions_of_group_or_none_without_rows(
    labels: tuple[str, ...], dimensions: Sequence[Dimension], relation: Relation
) -> tuple[Predicate, ...] | None:
    """Returns the conditions of the rows in a group; None if the relation has no such rows, () if all rows are such."""
    conditions: list[Predicate] = []
    for label, dimension in zip(labels, dimensions, strict=True):
        column = dimension.columns.get(relation)
        values = _column_values_of_label(label, dimension)
        if column is None and label == dimension.null_label:
            continue
        if column is None or not values:
            return None
        conditions.append(_list_condition_or_comparison_if_single(column, FilterOperator.IN, values))
    return tuple(conditions)


def _column_values_meeting_condition(
    condition: DimensionFilter, dimension: Dimension
) -> tuple[Scalar | None, ...]:
    """Returns the column values of the listed labels, or of all labels that meet the condition."""
    if condition.op not in _LIST_OPERATOR_FOR:
        wanted = _operand_as_text(condition.value)
        matching = (
            value for label, value in dimension.labels.items() if value_matches(label, condition.op, wanted)
        )
        return (*matching, *((None,) if value_matches(None, condition.op, wanted) else ()))
    labels = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    return tuple(stored for label in labels for stored in _column_values_of_label(label, dimension))


def _list_condition_or_comparison_if_single(
    column: Column, op: FilterOperator, values: tuple[Scalar | None, ...]
) -> Predicate:
    """Returns a predicate without a list for one value, and ``is_set`` or ``is_not_set`` for a single absent value."""
    if len(values) > 1:
        return Predicate(column, op, values)
    is_in = op is FilterOperator.IN
    if values[0] is None:
        return Predicate(column, FilterOperator.IS_NOT_SET if is_in else FilterOperator.IS_SET)
    return Predicate(column, FilterOperator.EQ if is_in else FilterOperator.NEQ, values[0])


def _column_values_of_label(
    label: Scalar | datetime | None, dimension: Dimension
) -> tuple[Scalar | None, ...]:
    """Returns the column values of a label; nothing if no row can have that label."""
    if label == dimension.null_label:
        return (None,)
    if dimension.labels:
        return (dimension.labels[str(label)],) if str(label) in dimension.labels else ()
    return (str(label),)


def _operand_as_text(value: Operand) -> Operand:
    """Returns the operand as text: dimensions are text, so a number in a filter is compared as written."""
    if isinstance(value, tuple):
        return tuple(str(part) for part in value)
    return None if value is None else str(value)


def _absent_value_meets_condition(condition: DimensionFilter, dimension: Dimension) -> bool:
    """Whether rows without a value of the dimension meet a condition."""
    if condition.op in _LIST_OPERATOR_FOR:
        value = condition.value
        is_listed = dimension.null_label in (value if isinstance(value, tuple) else (value,))
        return is_listed is (_LIST_OPERATOR_FOR[condition.op] is FilterOperator.IN)
    return condition.op is FilterOperator.IS_NOT_SET or condition.op in _NEGATIVE_OPERATORS
