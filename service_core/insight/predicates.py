"""What a predicate means: when a value meets an operation (contract 2.10).

An operand that is a number compares as numbers, with the number a text spells too; any other
operand compares as text, by code point. Values that are neither (lists, objects, a text that is no
number) are absent to the comparison.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from service_core.insight.measures import Op, Scalar

_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NEGATED: Final = {Op.NEQ: Op.EQ, Op.NOT_IN: Op.IN, Op.NOT_CONTAINS: Op.CONTAINS, Op.IS_NOT_SET: Op.IS_SET}
_TEXT: Final[Mapping[Op, Callable[[str, str], bool]]] = {
    Op.CONTAINS: lambda value, part: part in value,
    Op.STARTS_WITH: str.startswith,
    Op.ENDS_WITH: str.endswith,
}
_ORDER: Final[Mapping[Op, Callable[[Any, Any], bool]]] = {
    Op.EQ: lambda value, other: bool(value == other),
    Op.GT: lambda value, other: bool(value > other),
    Op.GTE: lambda value, other: bool(value >= other),
    Op.LT: lambda value, other: bool(value < other),
    Op.LTE: lambda value, other: bool(value <= other),
}


def meets(value: Any, op: Op, operand: Any = None) -> bool:
    """Whether a column's value meets an operation.

    A comparison with an absent value is false, except the negated ones, which are true.
    """
    if op in _NEGATED:
        return not meets(value, _NEGATED[op], operand)
    if op is Op.IN:
        return any(_is_one(value, one) for one in operand)
    if value is None or op is Op.IS_SET:
        return op is Op.IS_SET and value is not None
    if op is Op.BETWEEN:
        return meets(value, Op.GTE, operand[0]) and meets(value, Op.LTE, operand[1])
    if op in _TEXT:
        text = as_text(value)
        return text is not None and _TEXT[op](uncased(text), uncased(str(as_text(operand))))
    alike = _alike(value, operand)
    return alike is not None and _ORDER[op](*alike)


def uncased(text: str) -> str:
    """Text as it is when case does not matter: each letter by itself in lower case, whatever stands beside it.

    Letter by letter, a part of a text stays a part of it: as a word, ``ΟΔΟΣ`` would end in another letter
    than ``ΟΔΟΣΤΡΩΜΑ`` has there, and ``İ`` would become two.
    """
    return text.lower() if text.isascii() else "".join([letter.lower()[:1] for letter in text])


def _is_one(value: Any, listed: Scalar | None) -> bool:
    """None in a list stands for an absent value."""
    return value is None if listed is None else meets(value, Op.EQ, listed)


def as_text(value: Scalar | Any) -> str | None:
    """A scalar as text, as JSON writes it; None for a list or an object."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | str):
        return str(value)
    return None


def _alike(value: Any, operand: Scalar) -> tuple[Any, Any] | None:
    """Both sides as numbers or both as text; None when they cannot be compared."""
    if isinstance(operand, bool) or not isinstance(operand, int | float):
        text = as_text(value)
        return None if text is None else (text, as_text(operand))
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value), operand
    return (value, operand) if isinstance(value, int | float | Fraction) else None
