"""Exact values as answers show them: rounded half-even, once, at the end (contract 2.8)."""

from decimal import Decimal
from fractions import Fraction

from service_core.kernel.money import exponent, to_major

_RATIO_DECIMALS = 6
_SECOND_DECIMALS = 3


def decimal(value: float | Fraction, decimals: int) -> Decimal:
    """A value with at most so many decimals."""
    return Decimal(round(Fraction(value) * 10**decimals)).scaleb(-decimals)


def ratio(part: float | Fraction, whole: float | Fraction) -> Decimal | None:
    """A fraction with at most 6 decimals; None when the denominator is 0."""
    return decimal(Fraction(part) / Fraction(whole), _RATIO_DECIMALS) if whole else None


def seconds(value: float | None) -> Decimal | None:
    """A length of time with at most 3 decimals."""
    return None if value is None else decimal(value, _SECOND_DECIMALS)


def money(minor: int | None, currency: str) -> Decimal | None:
    """Minor units in major ones; None stays unknown."""
    return None if minor is None else to_major(minor, currency)


def money_per(minor: int | None, units: int, currency: str) -> Decimal | None:
    """Money per unit at the decimals of the currency; None when it is unknown or there is no unit."""
    if minor is None or not units:
        return None
    return decimal(Fraction(minor, units * 10 ** exponent(currency)), exponent(currency))
