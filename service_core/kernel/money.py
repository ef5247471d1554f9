"""Amounts of money as integer minor units: conversion, rounding half-even, and allocation without a remainder.

A currency has two decimals unless `_DECIMALS` says otherwise (ISO 4217). An unknown currency code counts as
having two, so that a new currency is never refused.
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


ISO_4217_CODES: Final = frozenset(
    """
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF
    CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD
    GNF GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP
    LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN
    PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP SZL THB TJS
    TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG XAU XBA XBB XBC XBD
    XCD XCG XDR XOF XPD XPF XPT XSU XTS XUA XXX YER ZAR ZMW ZWG ZWL
    """.split()  # noqa: SIM905 - a list of its codes in lines of one word each is no easier to read
)
"""Currency codes that ISO 4217 lists, with those of currencies that ended since 2020."""


AMOUNT_LIMIT: Final = 10**15
"""Amounts in major units are below it, in every currency and from every source; others are ignored and counted."""

MAX_MINOR_UNITS: Final = 10**18 - 1
"""Largest amount in minor units, so that it fits 64 bits; only currencies of four decimals reach it below `AMOUNT_LIMIT`."""


def currency_decimals(currency: str) -> int:
    """Returns the number of decimals of a currency: 0 for JPY, 2 for USD, 3 for KWD."""
    return _DECIMALS.get(currency, 2)


def to_minor(amount: Decimal, currency: str) -> int:
    """Returns an amount in major units as integer minor units, rounded half-even."""
    return int(amount.scaleb(currency_decimals(currency)).to_integral_value(ROUND_HALF_EVEN))


def to_minor_or_none_if_out_of_range(amount: Decimal, currency: str) -> int | None:
    """Returns an amount in major units as integer minor units; None if it is too large to be recorded."""
    if abs(amount) >= AMOUNT_LIMIT:
        return None
    minor = to_minor(amount, currency)
    return minor if abs(minor) <= MAX_MINOR_UNITS else None


def to_major(amount: int, currency: str) -> Decimal:
    """Returns an amount in integer minor units as major units, exactly."""
    return Decimal(amount).scaleb(-currency_decimals(currency))


def allocate_by_largest_remainder(
    amount: int, weights: Sequence[int | float | Decimal | Fraction]
) -> list[int]:
    """Returns the parts of an amount, one for each weight; they add up to the amount exactly.

    Remainders go to the parts with the largest fractions, ties to the earlier part.

    Args:
        amount: integer minor units.
        weights: relative weights, not negative. When all are zero, the parts are equal.

    Raises:
        ValueError: there is no weight, or a negative one.
    """
    shares = [Fraction(weight) for weight in weights]
    if not shares or min(shares) < 0:
        raise ValueError("an amount is allocated over at least one weight, and no weight is negative")
    whole = sum(shares)
    if not whole:
        shares, whole = [Fraction(1)] * len(shares), Fraction(len(shares))
    exact = [abs(amount) * share / whole for share in shares]
    parts = [int(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: parts[i] - exact[i])
    for i in by_remainder[: abs(amount) - sum(parts)]:
        parts[i] += 1
    return parts if amount >= 0 else [-part for part in parts]
