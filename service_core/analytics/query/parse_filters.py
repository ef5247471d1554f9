"""Parses filter operators and values of bodies, `property_filters` and query parameters."""

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

from service_core.analytics.measures import NOT_SET, Column, FilterOperator, Operand, Predicate
from service_core.kernel.errors import BadRequest

MAX_FILTERS: Final = 10
_MAX_VALUES: Final = 100
_OPERATORS_WITHOUT_VALUE: Final = frozenset({FilterOperator.IS_SET, FilterOperator.IS_NOT_SET})
_LIST_OPERATORS: Final = frozenset({FilterOperator.IN, FilterOperator.NOT_IN})
_BETWEEN_LENGTH: Final = 2
_INTEGER_LIMIT: Final = 2**63


def equals_label_or_is_not_set(column: str | Column, label: str) -> Predicate:
    """Returns the condition that a column equals a label as answers show it."""
    return (
        Predicate(column, FilterOperator.IS_NOT_SET) if label == NOT_SET else Predicate(column, value=label)
    )


def parse_operator(operator_name: str, error_code: str, error_field: str) -> FilterOperator:
    """Returns the operator with this name.

    Raises:
        BadRequest: it is unknown.
    """
    try:
        return FilterOperator(operator_name)
    except ValueError:
        raise BadRequest(f"Unknown filter op {operator_name!r}", error_code, field=error_field) from None


def parse_operand_for_operator(op: FilterOperator, value: Any, error_code: str, error_field: str) -> Operand:
    """Returns the value of a filter, validated for its operator.

    Raises:
        BadRequest: a list instead of a scalar or the other way round, or too many values.
    """
    if op in _OPERATORS_WITHOUT_VALUE:
        if value is not None:
            raise BadRequest(f"{op.value} takes no value", error_code, field=error_field)
        return None
    if op in _LIST_OPERATORS:
        return _parse_value_list(
            value,
            range(1, _MAX_VALUES + 1),
            f"{op.value} takes 1 to {_MAX_VALUES} values",
            error_code,
            error_field,
        )
    if op is FilterOperator.BETWEEN:
        return _parse_value_list(
            value,
            range(_BETWEEN_LENGTH, _BETWEEN_LENGTH + 1),
            "between takes [low, high]",
            error_code,
            error_field,
        )
    if not _is_storable_scalar(value):
        raise BadRequest(f"{op.value} takes a string or a number", error_code, field=error_field)
    return value  # type: ignore[no-any-return]


def _parse_value_list(
    value: Any, allowed_lengths: Sequence[int], message: str, error_code: str, error_field: str
) -> Operand:
    if (
        not isinstance(value, list | tuple)
        or len(value) not in allowed_lengths
        or not all(map(_is_storable_scalar, value))
    ):
        raise BadRequest(message, error_code, field=error_field)
    return tuple(value)


def _is_storable_scalar(value: Any) -> bool:
    """Whether every store accepts the value: no lone surrogates, nothing infinite, at most 64 bits."""
    if isinstance(value, str):
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, int):
        return abs(value) < _INTEGER_LIMIT
    return isinstance(value, float) and isfinite(value)
