"""Money: integer minor units of a currency, rounded half-even once, split without a remainder.

A currency has two decimals unless `_DECIMALS` says otherwise (ISO 4217). An unknown code counts as
two, so a new currency is never refused.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from typing import Final

_DECIMALS: Final = {
    code: decimals
    for decimals, codes in (
        (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
        (3, "BHD IQD JOD KWD LYD OMR TND"),
        (4, "CLF UYW"),
    )
    for code in codes.split()
}


def currency_decimals(currency: str) -> int:
    """Decimals of a currency: 0 for JPY, 2 for USD, 3 for KWD."""
    return _DECIMALS.get(currency, 2)


def to_minor(amount: Decimal, currency: str) -> int:
    """Major units -> integer minor units, rounded half-even."""
    return int(amount.scaleb(currency_decimals(currency)).to_integral_value(ROUND_HALF_EVEN))


def to_major(amount: int, currency: str) -> Decimal:
    """Integer minor units -> major units, exactly."""
    return Decimal(amount).scaleb(-currency_decimals(currency))


def allocate_amount(amount: int, weights: Sequence[int | float | Decimal | Fraction]) -> list[int]:
    """Split by largest remainder, ties to the earlier part; the parts add up to ``amount`` exactly.

    Weights are relative and not negative; when all are zero the parts are equal.

    Raises:
        ValueError: no weights, or a negative one.
    """
    shares = [Fraction(weight) for weight in weights]
    if not shares or min(shares) < 0:
        raise ValueError("an amount is split over at least one weight, and no weight is negative")
    whole = sum(shares)
    if not whole:
        shares, whole = [Fraction(1)] * len(shares), Fraction(len(shares))
    exact = [abs(amount) * share / whole for share in shares]
    parts = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: parts[i] - exact[i])
    for i in by_remainder[: abs(amount) - sum(parts)]:
        parts[i] += 1
    return parts if amount >= 0 else [-part for part in parts]
