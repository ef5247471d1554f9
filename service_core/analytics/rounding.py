"""Exact values as answers show them: rounded half-even, once, at the end (contract 2.8)."""

from decimal import Decimal
from fractions import Fraction

from service_core.kernel.money import currency_decimals, to_major

_RATIO_DECIMALS = 6
_SECOND_DECIMALS = 3


def round_decimal(value: float | Fraction, decimals: int) -> Decimal:
    """A value with at most so many decimals."""
    return Decimal(round(Fraction(value) * 10**decimals)).scaleb(-decimals)


def round_ratio(source_query: float | Fraction, whole: float | Fraction) -> Decimal | None:
    """A fraction with at most 6 decimals; None when the denominator is 0."""
    return round_decimal(Fraction(source_query) / Fraction(whole), _RATIO_DECIMALS) if whole else None


def round_seconds(value: float | None) -> Decimal | None:
    """A length of time with at most 3 decimals."""
    return None if value is None else round_decimal(value, _SECOND_DECIMALS)


def to_decimal_amount(minor: int | None, currency: str) -> Decimal | None:
    """Minor units in major ones; None stays unknown."""
    return None if minor is None else to_major(minor, currency)


def amount_per_unit(minor: int | None, units: int, currency: str) -> Decimal | None:
    """Money per unit at the decimals of the currency; None when it is unknown or there is no unit."""
    if minor is None or not units:
        return None
    return round_decimal(
        Fraction(minor, units * 10 ** currency_decimals(currency)), currency_decimals(currency)
    )
