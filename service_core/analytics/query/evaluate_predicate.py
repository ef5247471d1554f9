"""Evaluates filter operators in Python; every event store agrees with it.

A numeric operand compares as a number, with texts that hold a number too. Any other operand compares as
text, by code point. Values that fit neither (lists, objects, a text without a number) compare as absent.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, Final

from service_core.analytics.measures import (
    MAX_PROPERTY_LABEL_LENGTH,
    Column,
    Condition,
    FilterOperator,
    NotAll,
    Scalar,
)

_NUMBER_PATTERN: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WHOLE_NUMBER_PATTERN: Final = re.compile(r"-?[0-9]{1,37}")
"""Whole numbers compare exactly, others as floats."""

_NEGATED_OPERATORS: Final = {
    FilterOperator.NEQ: FilterOperator.EQ,
    FilterOperator.NOT_IN: FilterOperator.IN,
    FilterOperator.NOT_CONTAINS: FilterOperator.CONTAINS,
    FilterOperator.IS_NOT_SET: FilterOperator.IS_SET,
}
_TEXT_OPERATORS: Final[Mapping[FilterOperator, Callable[[str, str], bool]]] = {
    FilterOperator.CONTAINS: lambda value, part: part in value,
    FilterOperator.STARTS_WITH: str.startswith,
    FilterOperator.ENDS_WITH: str.endswith,
}
_ORDER_OPERATORS: Final[Mapping[FilterOperator, Callable[[Any, Any], bool]]] = {
    FilterOperator.EQ: lambda value, other: bool(value == other),
    FilterOperator.GT: lambda value, other: bool(value > other),
    FilterOperator.GTE: lambda value, other: bool(value >= other),
    FilterOperator.LT: lambda value, other: bool(value < other),
    FilterOperator.LTE: lambda value, other: bool(value <= other),
}


def condition_matches(condition: Condition, value_of: Callable[[Column], Any]) -> bool:
    """Whether a row meets a condition.

    Args:
        condition: the condition.
        value_of: returns the value of a column of the row.
    """
    if isinstance(condition, NotAll):
        return not all(condition_matches(part, value_of) for part in condition.conditions)
    return value_matches(value_of(condition.column), condition.op, condition.value)


def value_matches(value: Any, op: FilterOperator, operand: Any = None) -> bool:
    """Whether the value of a column meets an operator.

    A comparison with an absent value is false, except for negated operators.
    """
    if op in _NEGATED_OPERATORS:
        return not value_matches(value, _NEGATED_OPERATORS[op], operand)
    if op is FilterOperator.IN:
        return any(_equals_listed_value(value, listed) for listed in operand)
    if value is None or op is FilterOperator.IS_SET:
        return op is FilterOperator.IS_SET and value is not None
    if op is FilterOperator.BETWEEN:
        return value_matches(value, FilterOperator.GTE, operand[0]) and value_matches(
            value, FilterOperator.LTE, operand[1]
        )
    if op in _TEXT_OPERATORS:
        text = scalar_as_json_text(value)
        return text is not None and _TEXT_OPERATORS[op](
            lower_case_letter_by_letter(text), lower_case_letter_by_letter(str(scalar_as_json_text(operand)))
        )
    alike = _as_numbers_or_texts(value, operand)
    return alike is not None and _ORDER_OPERATORS[op](*alike)


def lower_case_letter_by_letter(text: str) -> str:
    """Returns the text in lower case, letter by letter.

    A part of a text then stays a part of it. By words, ``ΟΔΟΣ`` would end in another letter than ``ΟΔΟΣΤΡΩΜΑ``
    has there, and ``İ`` would become two.
    """
    return text.lower() if text.isascii() else "".join([letter.lower()[:1] for letter in text])


def _equals_listed_value(value: Any, listed: Scalar | None) -> bool:
    """Whether the value equals a listed one; None in a list stands for an absent value."""
    return value is None if listed is None else value_matches(value, FilterOperator.EQ, listed)


def scalar_as_json_text(value: Scalar | Any) -> str | None:
    """Returns a scalar as JSON writes it; None for a list or an object."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(value)
    return None


def property_label(value: Any) -> str | None:
    """Returns the label of a custom property: a scalar as text, cut to `MAX_PROPERTY_LABEL_LENGTH` characters."""
    text = scalar_as_json_text(value)
    return None if text is None else text[:MAX_PROPERTY_LABEL_LENGTH]


def _as_numbers_or_texts(value: Any, operand: Scalar | datetime) -> tuple[Any, Any] | None:
    """Returns both sides as numbers, as instants or as text; None if they cannot be compared."""
    if isinstance(operand, datetime):
        return (value, operand) if isinstance(value, datetime) else None
    if isinstance(operand, bool) or not isinstance(operand, int | float):
        text = scalar_as_json_text(value)
        return None if text is None else (text, scalar_as_json_text(operand))
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER_PATTERN.fullmatch(value):
        return (int if _WHOLE_NUMBER_PATTERN.fullmatch(value) else float)(value), operand
    return (value, operand) if isinstance(value, int | float | Fraction) else None
