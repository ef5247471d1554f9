"""What a rate is, how long it stands, and how one currency becomes another."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from service_core.kernel.exchange_rates import DayRate, ExchangeRates

FRIDAY = date(2026, 7, 3)


def exchange_rate(currency, per_euro, day=FRIDAY):
    return DayRate(day, currency, Decimal(per_euro))


@pytest.mark.parametrize(
    ("to", "currency", "worth"),
    [
        ("USD", "USD", Fraction(1)),
        ("USD", "EUR", Fraction("1.0876")),
        ("EUR", "USD", 1 / Fraction("1.0876")),
        ("USD", "GBP", Fraction("1.0876") / Fraction("0.8543")),
        ("USD", "JPY", Fraction("1.0876") / Fraction("171.23") * 100),
        ("JPY", "USD", Fraction("171.23") / Fraction("1.0876") / 100),
        ("KWD", "JPY", Fraction("0.3341") / Fraction("171.23") * 1000),
    ],
)
def test_conversion_crosses_through_the_euro_exactly_in_minor_units(to, currency, worth):
    published = [
        exchange_rate("USD", "1.0876"),
        exchange_rate("GBP", "0.8543"),
        exchange_rate("JPY", "171.23"),
        exchange_rate("KWD", "0.3341"),
    ]
    assert (
        ExchangeRates.from_published(to, published).minor_unit_rate_up_to_7_days_old(FRIDAY, currency)
        == worth
    )


def test_rate_is_carried_forward_for_seven_days_and_never_backward():
    rates = ExchangeRates.from_published("EUR", [exchange_rate("USD", "2")])
    stands = [
        day
        for day in range(-2, 12)
        if rates.minor_unit_rate_up_to_7_days_old(FRIDAY + timedelta(days=day), "USD")
    ]
    assert stands == [0, 1, 2, 3, 4, 5, 6, 7]


def test_latest_rate_applies_regardless_of_insertion_order():
    later = exchange_rate("USD", "4", FRIDAY + timedelta(days=3))
    rates = ExchangeRates.from_published("EUR", [later, exchange_rate("USD", "2")])
    assert rates.minor_unit_rate_up_to_7_days_old(FRIDAY + timedelta(days=2), "USD") == Fraction(1, 2)
    assert rates.minor_unit_rate_up_to_7_days_old(FRIDAY + timedelta(days=4), "USD") == Fraction(1, 4)


def test_conversion_needs_the_rates_of_both_currencies():
    rates = ExchangeRates.from_published("USD", [exchange_rate("GBP", "0.85")])
    assert [
        rates.minor_unit_rate_up_to_7_days_old(FRIDAY, each) for each in ("GBP", "EUR", "XXX", "USD")
    ] == [None, None, None, 1]


@pytest.mark.parametrize(
    ("currency", "per_euro"),
    [("EUR", "1"), ("usd", "1"), ("USD", "0"), ("USD", "-1"), ("USD", "NaN"), ("USD", "1.0000000000001")],
)
def test_invalid_rates_are_ignored(currency, per_euro):
    with pytest.raises(ValueError, match=r"rate"):
        exchange_rate(currency, per_euro)
