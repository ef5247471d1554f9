"""Filters of the wire, in labels, as predicates on the columns of a relation (contract 2.10)."""

from collections.abc import Iterable, Mapping
from typing import Final

from service_core.insight.catalog import Dimension
from service_core.insight.measures import Op, Operand, Predicate, Relation, Scalar
from service_core.insight.predicates import meets
from service_core.insight.query.question import Filter

NEVER: Final = None
"""No row of the relation can meet the filters."""

_UNEQUAL: Final = frozenset({Op.NEQ, Op.NOT_IN, Op.NOT_CONTAINS})
_LISTED: Final = {Op.EQ: Op.IN, Op.NEQ: Op.NOT_IN, Op.IN: Op.IN, Op.NOT_IN: Op.NOT_IN}


def predicates(
    filters: Iterable[Filter], dimensions: Mapping[str, Dimension], relation: Relation
) -> tuple[Predicate, ...] | None:
    """The filters as conditions on one relation; `NEVER` when no row can meet them."""
    found: list[Predicate] = []
    for condition in filters:
        dimension = dimensions[condition.dimension]
        column = dimension.columns.get(relation)
        if column is None:
            if not _absent_meets(condition, dimension):
                return NEVER
        elif condition.op in _LISTED or dimension.labels:
            op = _LISTED.get(condition.op, Op.IN)
            values = _values(condition, dimension)
            if values:
                found.append(_shortest(column, op, values))
            elif op is Op.IN:
                return NEVER
        else:
            found.append(Predicate(column, condition.op, _text(condition.value)))
    return tuple(found)


def _values(condition: Filter, dimension: Dimension) -> tuple[Scalar | None, ...]:
    """What the column holds for the labels that are listed, or that meet the condition."""
    if condition.op not in _LISTED:
        wanted = _text(condition.value)
        found = (value for label, value in dimension.labels.items() if meets(label, condition.op, wanted))
        return (*found, *((None,) if meets(None, condition.op, wanted) else ()))
    labels = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    return tuple(stored for label in labels for stored in _stored(label, dimension))


def _shortest(column: str, op: Op, values: tuple[Scalar | None, ...]) -> Predicate:
    """One value needs no list, and an absent one alone is a question of its own."""
    if len(values) > 1:
        return Predicate(column, op, values)
    is_in = op is Op.IN
    if values[0] is None:
        return Predicate(column, Op.IS_NOT_SET if is_in else Op.IS_SET)
    return Predicate(column, Op.EQ if is_in else Op.NEQ, values[0])


def _stored(label: Scalar | None, dimension: Dimension) -> tuple[Scalar | None, ...]:
    """What the column holds for a label; nothing when no row can have that label."""
    if label == dimension.absent:
        return (None,)
    if dimension.labels:
        return (dimension.labels[str(label)],) if str(label) in dimension.labels else ()
    return (str(label),)


def _text(value: Operand) -> Operand:
    """Dimensions are text: a number in a filter is compared as it is written."""
    if isinstance(value, tuple):
        return tuple(str(part) for part in value)
    return None if value is None else str(value)


def _absent_meets(condition: Filter, dimension: Dimension) -> bool:
    """Whether rows without any value for the dimension meet a condition."""
    if condition.op in _LISTED:
        value = condition.value
        named = dimension.absent in (value if isinstance(value, tuple) else (value,))
        return named is (_LISTED[condition.op] is Op.IN)
    return condition.op is Op.IS_NOT_SET or condition.op in _UNEQUAL
