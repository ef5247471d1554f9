"""Parses numbers and amounts of platform payloads exactly. A missing value is None, not zero."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from typing import Final

from service_core.commerce.platform_errors import PlatformUnavailable
from service_core.kernel.money import to_major, to_minor

JsonNumber = str | int | Decimal | None
"""A number as JSON has it, read with ``parse_float=Decimal``; most platforms write numbers as text."""

_NOT_REPORTED: Final = frozenset({"", "-", "--", "N/A"})


def parse_decimal_or_none_if_not_reported(reported: JsonNumber) -> Decimal | None:
    """Returns a number; None if the platform does not report it.

    Raises:
        ValueError: it is no number.
    """
    if reported is None or (isinstance(reported, str) and reported.strip() in _NOT_REPORTED):
        return None
    try:
        value = Decimal(reported)
    except InvalidOperation:
        raise ValueError(f"{reported!r} is no number") from None
    if not value.is_finite():
        raise ValueError(f"{reported!r} is no number")
    return value


def parse_reported_count(reported: JsonNumber) -> int | None:
    """Returns a whole number; None if the platform does not report it.

    Raises:
        ValueError: it is no number.
    """
    value = parse_decimal_or_none_if_not_reported(reported)
    return None if value is None else int(value)


def parse_reported_float(reported: JsonNumber) -> float | None:
    """Returns a number that may be a fraction; None if the platform does not report it.

    Raises:
        ValueError: it is no number.
    """
    value = parse_decimal_or_none_if_not_reported(reported)
    return None if value is None else float(value)


def parse_reported_amount_to_minor_units(reported: JsonNumber, currency: str) -> int | None:
    """Returns an amount in major units, such as ``"12.34"``, as minor units; None if the platform does not report it.

    Raises:
        ValueError: it is no number.
    """
    value = parse_decimal_or_none_if_not_reported(reported)
    return None if value is None else to_minor(value, currency)


def parse_reported_micros_to_minor_units(reported: JsonNumber, currency: str) -> int | None:
    """Returns an amount in millionths of the major unit as minor units; None if the platform does not report it.

    Raises:
        ValueError: it is no number.
    """
    value = parse_decimal_or_none_if_not_reported(reported)
    return None if value is None else to_minor(value.scaleb(-6), currency)


def to_platform_amount(amount: int | None, currency: str | None) -> float | None:
    """Returns minor units as a number of major units, exact below 9e15.

    None if the amount or its currency is unknown.
    """
    return None if amount is None or currency is None else float(to_major(amount, currency))


@contextmanager
def malformed_response_as_unavailable(platform: str) -> Iterator[None]:
    """Raises `PlatformUnavailable` if the block fails on missing or malformed fields of a response.

    Raises:
        PlatformUnavailable: with the type of the error; the text repeats nothing of the response.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as fault:
        raise PlatformUnavailable(f"{platform} answers in another shape ({type(fault).__name__}).") from fault
