"""What a rate is, how long it stands, and how one currency becomes another."""

from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from service_core.kernel.exchange_rates import DayRate, ExchangeRates

FRIDAY = date(2026, 7, 3)


def rate(currency, per_euro, day=FRIDAY):
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
def test_currencies_cross_through_the_euro_exactly_from_minor_unit_to_minor_unit(to, currency, worth):
    published = [rate("USD", "1.0876"), rate("GBP", "0.8543"), rate("JPY", "171.23"), rate("KWD", "0.3341")]
    assert ExchangeRates.from_published(to, published).rate_on(FRIDAY, currency) == worth


def test_a_rate_stands_for_seven_days_and_no_longer_and_never_for_the_past():
    rates = ExchangeRates.from_published("EUR", [rate("USD", "2")])
    stands = [day for day in range(-2, 12) if rates.rate_on(FRIDAY + timedelta(days=day), "USD")]
    assert stands == [0, 1, 2, 3, 4, 5, 6, 7]


def test_the_latest_rate_counts_whatever_order_they_come_in():
    later = rate("USD", "4", FRIDAY + timedelta(days=3))
    rates = ExchangeRates.from_published("EUR", [later, rate("USD", "2")])
    assert rates.rate_on(FRIDAY + timedelta(days=2), "USD") == Fraction(1, 2)
    assert rates.rate_on(FRIDAY + timedelta(days=4), "USD") == Fraction(1, 4)


def test_without_the_rate_of_either_side_there_is_none():
    rates = ExchangeRates.from_published("USD", [rate("GBP", "0.85")])
    assert [rates.rate_on(FRIDAY, each) for each in ("GBP", "EUR", "XXX", "USD")] == [None, None, None, 1]


@pytest.mark.parametrize(
    ("currency", "per_euro"),
    [("EUR", "1"), ("usd", "1"), ("USD", "0"), ("USD", "-1"), ("USD", "NaN"), ("USD", "1.0000000000001")],
)
def test_what_can_be_no_rate_is_none(currency, per_euro):
    with pytest.raises(ValueError, match=r"rate"):
        rate(currency, per_euro)
