"""Money: integer minor units inside the house, major units on the wire (contract 2.8, semantics 1.7).

Nothing is rounded before the end: sums are integers, quotients are fractions, and the one
rounding, half-even to the exponent of the currency, happens when a value leaves the house.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Final

_EXPONENTS: Final = {
    **dict.fromkeys(
        ("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV",
         "XAF", "XOF", "XPF"),
        0,
    ),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
}  # fmt: skip
"""Currencies whose ISO 4217 exponent is not 2."""

_USUAL_EXPONENT: Final = 2


def exponent(currency: str) -> int:
    """Decimals of a currency by ISO 4217; 2 for a code that is not listed apart."""
    return _EXPONENTS.get(currency, _USUAL_EXPONENT)


def to_minor(amount: Decimal, currency: str) -> int:
    """Minor units of an amount in major units, rounded half-even."""
    return int(amount.scaleb(exponent(currency)).to_integral_value(ROUND_HALF_EVEN))


def to_major(minor: int | Fraction, currency: str) -> float:
    """The JSON number of an amount in minor units, rounded half-even to the currency's exponent.

    A fraction (a mean, a share) is rounded here, once; the result is the nearest float of that decimal.
    """
    return float(Decimal(round(Fraction(minor))).scaleb(-exponent(currency)))


def split(amount: int, weights: Sequence[Fraction | int]) -> list[int]:
    """Shares of an amount in proportion to the weights, by largest remainder (semantics 1.8).

    Ties go to the earlier part, so the parts add up exactly: 10000 in three equal parts is 3334,
    3333, 3333. A negative amount is split like its absolute value.

    Raises:
        ValueError: the weights add up to nothing.
    """
    whole = sum(weights, Fraction(0))
    if whole <= 0:
        raise ValueError("weights must add up to more than nothing")
    exact = [abs(amount) * Fraction(weight) / whole for weight in weights]
    shares = [int(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: (shares[i] - exact[i], i))
    for i in by_remainder[: abs(amount) - sum(shares)]:
        shares[i] += 1
    return shares if amount >= 0 else [-share for share in shares]
