"""Amounts as Stripe writes them: whole numbers of a unit that is not always the currency's smallest."""

from decimal import Decimal
from typing import Final

from service_core.plugin import to_minor

DECIMALS: Final = {
    code: decimals
    for decimals, codes in (
        (0, "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF"),
        (3, "BHD JOD KWD OMR TND"),
    )
    for code in codes.split()
}
"""Digits after the point by currency; two elsewhere: also of ISK and UGX, which have none themselves."""


def to_major_units(amount: Decimal, currency: str) -> Decimal:
    """Stripe's units -> major units, exactly."""
    return amount.scaleb(-DECIMALS.get(currency, 2))


def format_amount(amount: Decimal, currency: str) -> str:
    """Stripe's units -> major units as a decimal text."""
    return f"{to_major_units(amount, currency):f}"


def to_minor_units(amount: Decimal, currency: str) -> int:
    """Stripe's units -> minor units of the currency."""
    return to_minor(to_major_units(amount, currency), currency)
