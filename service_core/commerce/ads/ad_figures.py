"""Figures as ad platforms write them: money meets no float, and what is missing is no zero."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Final

from service_core.commerce.platform_faults import PlatformDown
from service_core.kernel.money import to_major, to_minor

Told = str | int | Decimal | None
"""A number as JSON has it, read with ``parse_float=Decimal``; most platforms write numbers as text."""

_UNTOLD: Final = frozenset({"", "-", "--", "N/A"})


def exact(told: Told) -> Decimal | None:
    """A number; None when the platform does not say.

    Raises:
        ValueError: it is no number.
    """
    if told is None or (isinstance(told, str) and told.strip() in _UNTOLD):
        return None
    try:
        value = Decimal(told)
    except InvalidOperation:
        raise ValueError(f"{told!r} is no number") from None
    if not value.is_finite():
        raise ValueError(f"{told!r} is no number")
    return value


def count(told: Told) -> int | None:
    """A whole number; None when the platform does not say.

    Raises:
        ValueError: it is no number.
    """
    value = exact(told)
    return None if value is None else int(value)


def fraction(told: Told) -> float | None:
    """A number that may be a fraction and is no money; None when the platform does not say.

    Raises:
        ValueError: it is no number.
    """
    value = exact(told)
    return None if value is None else float(value)


def money(told: Told, currency: str) -> int | None:
    """An amount in the units of a currency, as in ``"12.34"``, in minor units; None when the platform does not say.

    Raises:
        ValueError: it is no number.
    """
    value = exact(told)
    return None if value is None else to_minor(value, currency)


def micros(told: Told, currency: str) -> int | None:
    """An amount in millionths of a currency's unit, in minor units; None when the platform does not say.

    Raises:
        ValueError: it is no number.
    """
    value = exact(told)
    return None if value is None else to_minor(value.scaleb(-6), currency)


def number(amount: int | None, currency: str | None) -> float | None:
    """Minor units as JSON of platforms has them: a number in units of the currency, exact below 9e15.

    None where the amount or its currency is not known.
    """
    return None if amount is None or currency is None else float(to_major(amount, currency))


@contextmanager
def of_known_shape(platform: str) -> Iterator[None]:
    """Whatever an answer lacks, or has otherwise than documented, inside the block makes the platform unreadable.

    Raises:
        PlatformDown: so it is; the text tells the kind of fault and nothing of the answer.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as fault:
        raise PlatformDown(f"{platform} answers in another shape ({type(fault).__name__}).") from fault
