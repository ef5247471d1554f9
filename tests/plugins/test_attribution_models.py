"""The data-driven models: golden vectors, and agreement with their definitions."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugins.attribution_models.markov import compute_markov_removal_effects
from plugins.attribution_models.models import MODELS
from plugins.attribution_models.shapley import (
    split_amounts_over_distinct_keys,
    split_conversions_over_distinct_keys,
)
from service_core.analytics.ports import TouchPath
from service_core.kernel.money import allocate_by_largest_remainder

A, B = ("A",), ("B",)
SMALL = [TouchPath((A,), 2, 1), TouchPath((B,), 1, 0), TouchPath((A, B), 1, 0)]
EMAIL, SEARCH, SOCIAL = ("Email",), ("Search",), ("Social",)
LARGE = [
    TouchPath((SEARCH,), 40, 160),
    TouchPath((SOCIAL, SEARCH), 30, 120),
    TouchPath((SOCIAL,), 10, 190),
    TouchPath((EMAIL, SEARCH), 20, 30),
    TouchPath((SOCIAL, EMAIL), 5, 45),
]


def credits_of(weights, conversions):
    parts = allocate_by_largest_remainder(conversions * 1_000_000, list(weights.values()))
    return {key[0]: part / 1_000_000 for key, part in zip(weights, parts, strict=True)}


def test_eight_models_are_installed_in_the_specified_order():
    assert [model.id for model in MODELS] == [
        "first_touch", "last_touch", "last_non_direct", "linear", "position_based", "time_decay", "markov", "shapley",
    ]  # fmt: skip


def test_markov_credits_of_two_keys():
    effects = compute_markov_removal_effects(SMALL)
    assert effects == pytest.approx({A: 0.75, B: 0.5})
    assert credits_of(effects, 4) == {"A": 2.4, "B": 1.6}


def test_markov_credits_of_three_keys():
    effects = compute_markov_removal_effects(LARGE)
    assert {key[0]: round(effect, 6) for key, effect in effects.items()} == {
        "Email": 0.154762, "Search": 0.857143, "Social": 0.494048,
    }  # fmt: skip
    assert credits_of(effects, 105) == {"Email": 10.790514, "Search": 59.762846, "Social": 34.446640}


def test_shapley_credits_of_two_and_three_keys():
    assert split_conversions_over_distinct_keys(SMALL) == {A: Fraction(5, 2), B: Fraction(3, 2)}
    assert split_conversions_over_distinct_keys(LARGE) == {
        SEARCH: 65,
        SOCIAL: Fraction(55, 2),
        EMAIL: Fraction(25, 2),
    }


def test_shapley_gives_each_key_the_money_of_its_own_path():
    assert split_amounts_over_distinct_keys({(A,): 100_000, (B,): 100}) == {A: 100_000, B: 100}
    assert split_amounts_over_distinct_keys({(A, B, A): 1_000, (B,): 1}) == {A: 500, B: 501}


def test_only_shapley_splits_the_money_of_each_path():
    assert [model.id for model in MODELS if getattr(model, "split_amounts", None)] == ["shapley"]


keys = st.sampled_from([(name,) for name in "ABCD"])
generated_paths = st.lists(keys, min_size=1, max_size=6).map(
    lambda walk: tuple(key for i, key in enumerate(walk) if not i or key != walk[i - 1])
)
generated_path_counts = st.lists(
    st.builds(TouchPath, generated_paths, st.integers(0, 9), st.integers(0, 9)).filter(
        lambda p: p.converted + p.unconverted
    ),
    min_size=1,
    max_size=12,
).filter(lambda paths: any(path.converted for path in paths))


@given(generated_path_counts)
def test_shapley_is_the_mean_marginal_contribution_over_all_orders(paths):
    players = sorted({key for path in paths for key in path.keys})
    worth = dict.fromkeys(players, Fraction(0))
    orders = list(permutations(players))
    for order in orders:
        for i, key in enumerate(order):
            worth[key] += Fraction(
                coalition_value(paths, order[: i + 1]) - coalition_value(paths, order[:i]), len(orders)
            )
    assert split_conversions_over_distinct_keys(paths) == worth


@given(st.dictionaries(generated_paths, st.integers(0, 10**6), min_size=1, max_size=8))
def test_shapley_money_is_the_mean_marginal_contribution_over_all_orders(amounts):
    paths = [TouchPath(path_keys, amount, 0) for path_keys, amount in amounts.items()]
    assert split_amounts_over_distinct_keys(amounts) == split_conversions_over_distinct_keys(paths)


def coalition_value(paths, players):
    return sum(path.converted for path in paths if set(path.keys) <= set(players))


@given(generated_path_counts)
def test_markov_is_the_share_of_conversions_lost_when_a_key_is_removed(paths):
    whole = conversion_probability(paths, without=None)
    for key, effect in compute_markov_removal_effects(paths).items():
        assert effect == pytest.approx(1 - conversion_probability(paths, without=key) / whole, abs=1e-9)


def conversion_probability(paths, without):
    """Chance to convert, by walking the chain step by step until nearly all walkers have left it."""
    steps, leaving = Counter(), Counter()
    for path in paths:
        for end, walkers in (("won", path.converted), ("lost", path.unconverted)):
            for a, b in pairwise(["start", *path.keys, end]):
                steps[a, b] += walkers
                leaving[a] += walkers
    here, converted = Counter({"start": 1.0}), 0.0
    while sum(here.values()) > 1e-13:
        there = Counter()
        for (a, b), walkers in steps.items():
            there[b] += here[a] * walkers / leaving[a]
        converted += there.pop("won", 0.0)
        here = Counter({state: part for state, part in there.items() if state not in ("lost", without)})
    return converted
