"""Semantics 1.7 and 1.8: minor units, half-even rounding, largest remainder."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_core.kernel.money import allocate_by_largest_remainder, currency_decimals, to_major, to_minor


@pytest.mark.parametrize(("currency", "decimals"), [("USD", 2), ("JPY", 0), ("KWD", 3), ("XYZ", 2)])
def test_currency_has_the_decimals_of_iso_4217(currency, decimals):
    assert currency_decimals(currency) == decimals


@pytest.mark.parametrize(
    ("amount", "currency", "minor"),
    [
        ("49.90", "USD", 4990),
        ("0.125", "USD", 12),
        ("0.135", "USD", 14),
        ("-3.5", "JPY", -4),
        ("2.5", "JPY", 2),
        ("1.2345", "KWD", 1234),
    ],
)
def test_rounding_is_half_even(amount, currency, minor):
    assert to_minor(Decimal(amount), currency) == minor


def test_minor_units_become_major_units_exactly():
    assert [to_major(4990, "USD"), to_major(1000, "JPY"), to_major(1, "KWD")] == [
        Decimal("49.90"),
        Decimal(1000),
        Decimal("0.001"),
    ]


@pytest.mark.parametrize(
    ("amount", "weights", "parts"),
    [
        (10000, [1, 1, 1], [3334, 3333, 3333]),
        (1000, [1, 1, 1], [334, 333, 333]),
        (9999, [0.4, 0.1, 0.1, 0.4], [4000, 1000, 1000, 3999]),
        (9999, [Decimal("0.4"), Decimal("0.1"), Decimal("0.1"), Decimal("0.4")], [4000, 1000, 1000, 3999]),
        (1000, [0.4, 0.2 / 3, 0.2 / 3, 0.2 / 3, 0.4], [400, 67, 67, 66, 400]),
        (-1000, [1, 1, 1], [-334, -333, -333]),
        (5, [0, 0], [3, 2]),
    ],
)
def test_parts_follow_the_largest_remainder_and_ties_go_to_the_earlier_part(amount, weights, parts):
    assert allocate_by_largest_remainder(amount, weights) == parts


@pytest.mark.parametrize("weights", [[], [1, -1]])
def test_split_over_nothing_or_below_nothing_is_refused(weights):
    with pytest.raises(ValueError, match="at least one weight"):
        allocate_by_largest_remainder(100, weights)


@given(
    st.integers(-(10**12), 10**12),
    st.lists(st.fractions(0, 10) | st.floats(0, 10) | st.integers(0, 10), min_size=1, max_size=30),
)
def test_split_conserves_the_amount_and_stays_within_one_unit(amount, weights):
    parts = allocate_by_largest_remainder(amount, weights)
    assert sum(parts) == amount
    whole = sum(map(Fraction, weights)) or len(weights)
    for part, weight in zip(parts, weights, strict=True):
        share = Fraction(weight) if any(weights) else Fraction(1)
        assert abs(part - amount * share / whole) < 1
