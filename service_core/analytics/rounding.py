"""Rounds exact values half-even for answers."""

from decimal import Decimal
from fractions import Fraction

from service_core.kernel.money import currency_decimals, to_major

_RATIO_DECIMALS = 6
_SECOND_DECIMALS = 3


def round_decimal(value: float | Fraction, decimals: int) -> Decimal:
    """Returns the value with at most this many decimals."""
    return Decimal(round(Fraction(value) * 10**decimals)).scaleb(-decimals)


def round_ratio(numerator: float | Fraction, denominator: float | Fraction) -> Decimal | None:
    """Returns a fraction with at most 6 decimals; None if the denominator is 0."""
    return (
        round_decimal(Fraction(numerator) / Fraction(denominator), _RATIO_DECIMALS) if denominator else None
    )


def round_seconds(value: float | None) -> Decimal | None:
    """Returns a duration with at most 3 decimals."""
    return None if value is None else round_decimal(value, _SECOND_DECIMALS)


def to_decimal_amount(minor: int | None, currency: str) -> Decimal | None:
    """Returns minor units as major units; None stays unknown."""
    return None if minor is None else to_major(minor, currency)


def rounded_amount_per_unit_or_none(minor_amount: int | None, units: int, currency: str) -> Decimal | None:
    """Returns an amount per unit at the decimals of the currency; None if it is unknown or there are no units."""
    if minor_amount is None or not units:
        return None
    return round_decimal(
        Fraction(minor_amount, units * 10 ** currency_decimals(currency)), currency_decimals(currency)
    )
