"""Shares of one conversion by rule-based models."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.attribution_models.models import MODELS
from service_core.analytics.attribution.credit_shares import PathTouch, compute_credit_share_per_touch
from service_core.analytics.attribution.ports import RuleBasedModel
from service_core.kernel.money import allocate_by_largest_remainder

PURCHASED_AT = datetime(2026, 7, 15, tzinfo=UTC)
RULES = {model.id: model for model in MODELS if isinstance(model, RuleBasedModel)}


def credit_shares(model, *path, window=30):
    """Shares of touches given as (days before, direct?)."""
    steps = [PathTouch(PURCHASED_AT - timedelta(days=days), direct) for days, direct in path]
    return compute_credit_share_per_touch(
        RULES[model].to_credit_rule(timedelta(days=window)), steps, PURCHASED_AT
    )


GOOGLE_DIRECT_FACEBOOK_DIRECT = ((4, False), (3, True), (2, False), (1, True))


@pytest.mark.parametrize(
    ("model", "shares"),
    [
        ("first_touch", [1, 0, 0, 0]),
        ("last_touch", [0, 0, 0, 1]),
        ("last_non_direct", [0, 0, 1, 0]),
        ("linear", [0.5, 0, 0.5, 0]),
        ("position_based", [0.5, 0, 0.5, 0]),
    ],
)
def test_direct_touches_drop_out_of_all_models_but_first_and_last_touch(model, shares):
    assert credit_shares(model, *GOOGLE_DIRECT_FACEBOOK_DIRECT) == shares


@pytest.mark.parametrize(
    ("model", "shares"),
    [("last_non_direct", [0, 0, 1]), ("linear", [1 / 3] * 3), ("position_based", [0.4, 0.2, 0.4])],
)
def test_path_of_direct_touches_only_is_credited_to_direct(model, shares):
    assert credit_shares(model, (3, True), (2, True), (1, True)) == pytest.approx(shares)


def test_time_decay_halves_every_seven_days():
    shares = credit_shares("time_decay", (14, False), (7, False), (1, False), (0, False))
    assert [round(part, 6) for part in shares] == [0.094136, 0.188273, 0.341046, 0.376545]
    assert allocate_by_largest_remainder(10_000, shares) == [941, 1883, 3411, 3765]


def test_position_based_splits_money_to_the_last_cent():
    assert allocate_by_largest_remainder(
        1000, credit_shares("position_based", *((n, False) for n in (5, 4, 3, 2, 1)))
    ) == [
        400,
        67,
        67,
        66,
        400,
    ]


def test_touch_counts_from_the_start_of_the_window_to_the_conversion():
    path = ((30.0001, False), (30, False), (0, False), (-0.0001, False))
    assert credit_shares("linear", *path) == [0, 0.5, 0.5, 0]


def test_without_a_touch_in_the_window_nothing_is_credited():
    assert credit_shares("linear", (31, False)) == [0]
    assert credit_shares("time_decay") == []


paths = st.lists(
    st.tuples(st.integers(-100, 9600).map(lambda hours: hours / 24), st.booleans()), max_size=8
).map(lambda path: sorted(path, reverse=True))


@given(st.sampled_from(sorted(RULES)), paths, st.integers(0, 10**9))
def test_shares_of_a_conversion_and_of_its_money_add_up_exactly(model, path, amount):
    shares = credit_shares(model, *path, window=365)
    if any(0 <= days <= 365 for days, _ in path):
        assert sum(shares) == pytest.approx(1)
        assert sum(allocate_by_largest_remainder(1_000_000, shares)) == 1_000_000
        assert sum(allocate_by_largest_remainder(amount, shares)) == amount
    else:
        assert not any(shares)
