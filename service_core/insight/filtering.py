"""Filters as they are sent, checked (contract 2.10): in bodies, `property_filters` and plain parameters."""

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

from service_core.insight.measures import NOT_SET, Op, Operand, Predicate
from service_core.kernel.errors import BadRequest

MOST_FILTERS: Final = 10
_MOST_VALUES: Final = 100
_VALUELESS: Final = frozenset({Op.IS_SET, Op.IS_NOT_SET})
_LISTS: Final = frozenset({Op.IN, Op.NOT_IN})
_PAIR: Final = 2
_TOO_LARGE: Final = 2**63


def exactly(column: str, label: str) -> Predicate:
    """The condition of a parameter that takes a value as answers show it."""
    return Predicate(column, Op.IS_NOT_SET) if label == NOT_SET else Predicate(column, value=label)


def operation_of(name: str, code: str, field: str) -> Op:
    """The op with this name.

    Raises:
        BadRequest: there is none.
    """
    try:
        return Op(name)
    except ValueError:
        raise BadRequest(f"Unknown filter op {name!r}", code, field=field) from None


def operand(op: Op, value: Any, code: str, field: str) -> Operand:
    """The value of a filter, checked against its op.

    Raises:
        BadRequest: a list where a scalar belongs, or the other way round, or too many values.
    """
    if op in _VALUELESS:
        if value is not None:
            raise BadRequest(f"{op.value} takes no value", code, field=field)
        return None
    if op in _LISTS:
        return _values(
            value, range(1, _MOST_VALUES + 1), f"{op.value} takes 1 to {_MOST_VALUES} values", code, field
        )
    if op is Op.BETWEEN:
        return _values(value, range(_PAIR, _PAIR + 1), "between takes [low, high]", code, field)
    if not _is_scalar(value):
        raise BadRequest(f"{op.value} takes a string or a number", code, field=field)
    return value  # type: ignore[no-any-return]


def _values(value: Any, sizes: Sequence[int], complaint: str, code: str, field: str) -> Operand:
    if not isinstance(value, list | tuple) or len(value) not in sizes or not all(map(_is_scalar, value)):
        raise BadRequest(complaint, code, field=field)
    return tuple(value)


def _is_scalar(value: Any) -> bool:
    """A text or a number every store can take: no lone surrogates, nothing infinite, nothing over 64 bits."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, int):
        return abs(value) < _TOO_LARGE
    return isinstance(value, float) and isfinite(value)
