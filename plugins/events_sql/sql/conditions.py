"""Compiles predicates to SQL conditions, with the comparison rules of the core.

A numeric operand compares as a number, also with texts that represent a number; any other operand compares
as text by code point.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.sql.functions import FunctionElement

from plugins.events_sql.schema.row_mapping import to_naive_utc
from plugins.events_sql.sql import functions as fn
from service_core.plugin import (
    MAX_PROPERTY_LABEL_LENGTH,
    FilterOperator,
    Predicate,
    lower_case_letter_by_letter,
)

Expression = sa.ColumnElement[Any]
_NUMBER_PATTERN: Final = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_MAX_DIGITS: Final = 37
_WHOLE_NUMBER_PATTERN: Final = rf"^-?[0-9]{{1,{_MAX_DIGITS}}}$"
"""Whole numbers that fit into 128 bits."""

_NEGATED_OPERATORS: Final = {
    FilterOperator.NEQ: FilterOperator.EQ,
    FilterOperator.NOT_IN: FilterOperator.IN,
    FilterOperator.NOT_CONTAINS: FilterOperator.CONTAINS,
    FilterOperator.IS_NOT_SET: FilterOperator.IS_SET,
}
_TEXT_OPERATORS: Final[Mapping[FilterOperator, type[FunctionElement[bool]]]] = {
    FilterOperator.CONTAINS: fn.TextContains,
    FilterOperator.STARTS_WITH: fn.TextStartsWith,
    FilterOperator.ENDS_WITH: fn.TextEndsWith,
}
_COMPARISONS: Final[Mapping[FilterOperator, Callable[[Expression, Any], Expression]]] = {
    FilterOperator.EQ: lambda value, other: value == other,
    FilterOperator.GT: lambda value, other: value > other,
    FilterOperator.GTE: lambda value, other: value >= other,
    FilterOperator.LT: lambda value, other: value < other,
    FilterOperator.LTE: lambda value, other: value <= other,
}


class ComparableValue:
    """A value as predicates compare it; its text and number expressions are created on access.

    Args:
        raw: the value itself.
        text: returns it as text; None when it never is text.
        number: returns it as a number; None when it never is one.
    """

    def __init__(
        self,
        raw: Expression,
        text: Callable[[], Expression] | None,
        number: Callable[[], Expression] | None,
    ) -> None:
        self.raw, self._text, self._number = raw, text, number

    @cached_property
    def text(self) -> Expression | None:
        """The value as text."""
        return self._text and self._text()

    @cached_property
    def number(self) -> Expression | None:
        """The value as a number."""
        return self._number and self._number()


def comparable_column(column: Expression) -> ComparableValue:
    """Returns the comparable value of a column, by its SQL type."""
    if isinstance(column.type, sa.Boolean):
        return ComparableValue(column, lambda: _boolean_text(column), None)
    if isinstance(column.type, sa.BigInteger | sa.Double | sa.Numeric):
        return ComparableValue(column, lambda: sa.cast(column, sa.Text), lambda: column)
    if isinstance(column.type, sa.String):
        return ComparableValue(
            column, lambda: column, lambda: fn.TryCastNumber(column, sa.literal(_NUMBER_PATTERN))
        )
    return ComparableValue(column, None, None)


def _boolean_text(truth: Expression) -> Expression:
    return sa.case((truth, sa.literal("true")), (sa.not_(truth), sa.literal("false")))


def comparable_property(document: Expression, dot_path: str) -> ComparableValue:
    """Returns the comparable value at a dot path of ``event_data``; JSON null is NULL, lists and objects never compare."""
    keys = dot_path.split(".")
    pointer = "/" + "/".join(key.replace("~", "~0").replace("/", "~1") for key in keys)
    place = document, fn.JsonPath(*map(sa.literal, (pointer, *keys)))
    scalar = fn.JsonScalar(*place)

    def number() -> Expression:
        return sa.case(
            (sa.not_(fn.JsonIsBoolean(*place)), fn.TryCastNumber(scalar, sa.literal(_NUMBER_PATTERN)))
        )

    return ComparableValue(fn.JsonIsSet(*place), lambda: scalar, number)


def property_label(document: Expression, dot_path: str) -> Expression:
    """Returns the value at a dot path of ``event_data`` as the label of a dimension: text, cut to its maximum length."""
    text = comparable_property(document, dot_path).text
    return fn.TextPrefix(text, sa.literal(MAX_PROPERTY_LABEL_LENGTH))


def predicate_condition(value: ComparableValue, predicate: Predicate) -> Expression:
    """Returns the condition that a value meets a predicate; negated predicates are never NULL."""
    op, operand = predicate.op, predicate.value
    if isinstance(operand, datetime):
        return _COMPARISONS[op](value.raw, sa.literal(to_naive_utc(operand)))
    if op in _NEGATED_OPERATORS:
        return sa.not_(
            sa.func.coalesce(_positive_condition(value, _NEGATED_OPERATORS[op], operand), sa.false())
        )
    return _positive_condition(value, op, operand)


def _positive_condition(value: ComparableValue, op: FilterOperator, operand: Any) -> Expression:
    if op is FilterOperator.IS_SET:
        return value.raw.is_not(None)
    if op is FilterOperator.IN:
        return _is_one_of(value, operand)
    if op is FilterOperator.BETWEEN:
        return sa.and_(
            _compare_as_number_or_text(value, FilterOperator.GTE, operand[0]),
            _compare_as_number_or_text(value, FilterOperator.LTE, operand[1]),
        )
    if op in _TEXT_OPERATORS:
        if value.text is None:
            return sa.false()
        return _TEXT_OPERATORS[op](
            sa.func.lower(value.text), sa.literal(lower_case_letter_by_letter(operand_text(operand)))
        )
    return _compare_as_number_or_text(value, op, operand)


def _is_one_of(value: ComparableValue, operands_or_none_for_unset: tuple[Any, ...]) -> Expression:
    absent = [value.raw.is_(None)] if None in operands_or_none_for_unset else []
    texts = [
        operand_text(operand)
        for operand in operands_or_none_for_unset
        if operand is not None and not _is_number(operand)
    ]
    text_conditions = (
        [fn.InValues(value.text, *map(sa.literal, texts))] if texts and value.text is not None else []
    )
    numbers = [
        _compare_as_number_or_text(value, FilterOperator.EQ, operand)
        for operand in operands_or_none_for_unset
        if _is_number(operand)
    ]
    any_of = (*absent, *text_conditions, *numbers)
    return sa.or_(*any_of) if any_of else sa.false()


def _compare_as_number_or_text(value: ComparableValue, op: FilterOperator, operand: Any) -> Expression:
    if op is FilterOperator.EQ and isinstance(operand, bool) and isinstance(value.raw.type, sa.Boolean):
        return value.raw if operand else sa.not_(value.raw)
    side = value.number if _is_number(operand) else value.text
    if side is None:
        return sa.false()
    compared = _COMPARISONS[op](side, sa.literal(operand if _is_number(operand) else operand_text(operand)))
    if isinstance(side, fn.TryCastNumber | sa.Case) and _is_beyond_exact_floats(operand):
        return _compare_whole_numbers_exactly(value, op, int(operand), compared)
    return compared


def _is_beyond_exact_floats(operand: Any) -> bool:
    """Returns whether an operand is a whole number that floats cannot tell from its neighbours, of up to 37 digits."""
    return _is_number(operand) and math.isfinite(operand) and 2**53 <= abs(operand) < 10**_MAX_DIGITS


def _compare_whole_numbers_exactly(
    value: ComparableValue, op: FilterOperator, operand: int, compared_as_floats: Expression
) -> Expression:
    assert value.text is not None
    whole = fn.TryCastWholeNumber(value.text, sa.literal(_WHOLE_NUMBER_PATTERN))
    exact = fn.WideInteger(sa.literal(str(operand)))
    is_whole = (
        sa.and_(value.number.is_not(None), whole.is_not(None)) if value.number is not None else sa.false()
    )
    return sa.case((is_whole, _COMPARISONS[op](whole, exact)), else_=compared_as_floats)


def _is_number(operand: Any) -> bool:
    return isinstance(operand, int | float) and not isinstance(operand, bool)


def operand_text(operand: Any) -> str:
    """Returns an operand as JSON text."""
    if isinstance(operand, bool):
        return "true" if operand else "false"
    return str(operand)
