"""Predicates as conditions: the rules of `insight.predicates`, in SQL.

An operand that is a number compares as numbers, with the number a text spells too; any other
operand compares as text, by code point.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.sql.functions import FunctionElement

from plugins.events_sql import functions as fn
from service_core.plugin import Op, Predicate, uncased

Expression = sa.ColumnElement[Any]
_NUMBER: Final = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_NEGATED: Final = {Op.NEQ: Op.EQ, Op.NOT_IN: Op.IN, Op.NOT_CONTAINS: Op.CONTAINS, Op.IS_NOT_SET: Op.IS_SET}
_TEXT: Final[Mapping[Op, type[FunctionElement[bool]]]] = {
    Op.CONTAINS: fn.Has,
    Op.STARTS_WITH: fn.Starts,
    Op.ENDS_WITH: fn.Ends,
}
_ORDER: Final[Mapping[Op, Callable[[Expression, Any], Expression]]] = {
    Op.EQ: lambda value, other: value == other,
    Op.GT: lambda value, other: value > other,
    Op.GTE: lambda value, other: value >= other,
    Op.LT: lambda value, other: value < other,
    Op.LTE: lambda value, other: value <= other,
}


class Value:
    """Something as a predicate sees it; what it is as text or number is worked out when it is asked.

    Args:
        found: as it is.
        text: it as text; None where it never is any.
        number: it as a number, likewise.
    """

    def __init__(
        self,
        found: Expression,
        text: Callable[[], Expression] | None,
        number: Callable[[], Expression] | None,
    ) -> None:
        self.set, self._text, self._number = found, text, number

    @cached_property
    def text(self) -> Expression | None:
        """It as text."""
        return self._text and self._text()

    @cached_property
    def number(self) -> Expression | None:
        """It as a number."""
        return self._number and self._number()


def of_column(column: Expression) -> Value:
    """A column of one of our tables by its SQL type."""
    if isinstance(column.type, sa.Boolean):
        return Value(column, lambda: _spelled_out(column), None)
    if isinstance(column.type, sa.BigInteger | sa.Double | sa.Numeric):
        return Value(column, lambda: sa.cast(column, sa.Text), lambda: column)
    if isinstance(column.type, sa.String):
        return Value(column, lambda: column, lambda: fn.Spelled(column, sa.literal(_NUMBER)))
    return Value(column, None, None)


def _spelled_out(truth: Expression) -> Expression:
    return sa.case((truth, sa.literal("true")), (sa.not_(truth), sa.literal("false")))


def of_data(document: Expression, path: str) -> Value:
    """A value inside ``event_data`` by its dot path; JSON null is absent, lists and objects compare with nothing."""
    keys = path.split(".")
    pointer = "/" + "/".join(key.replace("~", "~0").replace("/", "~1") for key in keys)
    place = document, fn.Path(*map(sa.literal, (pointer, *keys)))
    found = fn.JsonScalar(*place)

    def number() -> Expression:
        return sa.case((sa.not_(fn.JsonIsBoolean(*place)), fn.Spelled(found, sa.literal(_NUMBER))))

    return Value(fn.JsonSet(*place), lambda: found, number)


def meets(value: Value, predicate: Predicate) -> Expression:
    """The condition that a value meets a predicate; never NULL where it decides a row."""
    op, operand = predicate.op, predicate.value
    if op in _NEGATED:
        return sa.not_(sa.func.coalesce(_meets(value, _NEGATED[op], operand), sa.false()))
    return _meets(value, op, operand)


def _meets(value: Value, op: Op, operand: Any) -> Expression:
    if op is Op.IS_SET:
        return value.set.is_not(None)
    if op is Op.IN:
        return _one_of(value, operand)
    if op is Op.BETWEEN:
        return sa.and_(_compared(value, Op.GTE, operand[0]), _compared(value, Op.LTE, operand[1]))
    if op in _TEXT:
        if value.text is None:
            return sa.false()
        return _TEXT[op](sa.func.lower(value.text), sa.literal(uncased(as_text(operand))))
    return _compared(value, op, operand)


def _one_of(value: Value, operands: tuple[Any, ...]) -> Expression:
    absent = [value.set.is_(None)] if None in operands else []
    texts = [as_text(one) for one in operands if one is not None and not _is_number(one)]
    found = [fn.OneOf(value.text, *map(sa.literal, texts))] if texts and value.text is not None else []
    numbers = [_compared(value, Op.EQ, one) for one in operands if _is_number(one)]
    any_of = (*absent, *found, *numbers)
    return sa.or_(*any_of) if any_of else sa.false()


def _compared(value: Value, op: Op, operand: Any) -> Expression:
    if op is Op.EQ and isinstance(operand, bool) and isinstance(value.set.type, sa.Boolean):
        return value.set if operand else sa.not_(value.set)
    side = value.number if _is_number(operand) else value.text
    if side is None:
        return sa.false()
    return _ORDER[op](side, sa.literal(operand if _is_number(operand) else as_text(operand)))


def _is_number(operand: Any) -> bool:
    return isinstance(operand, int | float) and not isinstance(operand, bool)


def as_text(operand: Any) -> str:
    """An operand as JSON writes it."""
    if isinstance(operand, bool):
        return "true" if operand else "false"
    return str(operand)
