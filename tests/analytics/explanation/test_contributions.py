"""Contributions add up to the change, whatever the groups."""

import random
from fractions import Fraction

import pytest

from service_core.analytics.explanation.contributions import (
    SEVERAL_GROUPS_LABEL,
    GroupValue,
    attribute_change_to_groups,
    keep_largest_and_sum_rest,
    round_contributions_to_sum,
)


def amount(value):
    return GroupValue(Fraction(value), Fraction(value))


def ratio(part, base):
    return GroupValue(Fraction(part, base) if base else None, Fraction(part), Fraction(base))


def test_groups_appear_vanish_grow_and_shrink():
    before = {"a": amount(10), "b": amount(5), "c": amount(3), "d": amount(1)}
    after = {"a": amount(4), "c": amount(9), "d": amount(1), "e": amount(2)}
    split = attribute_change_to_groups(before, after, amount(19), amount(16))
    assert [(each.label, each.amount, each.kind) for each in split] == [
        ("a", -6, "shrank"), ("c", 6, "grew"), ("b", -5, "vanished"), ("e", 2, "appeared"),
    ]  # fmt: skip


def test_what_counts_in_several_groups_is_named():
    before, after = {"a": amount(5), "b": amount(5)}, {"a": amount(8), "b": amount(8)}
    split = attribute_change_to_groups(before, after, amount(10), amount(12))
    assert [(each.label, each.amount) for each in split] == [(SEVERAL_GROUPS_LABEL, -4), ("a", 3), ("b", 3)]


def test_rate_and_mix_of_a_ratio():
    # Mobile converts 1 % and desktop 3 % in both ranges, but mobile grew from half of the visitors to three quarters.
    before = {"mobile": ratio(1, 100), "desktop": ratio(3, 100)}
    after = {"mobile": ratio(3, 300), "desktop": ratio(3, 100)}
    split = attribute_change_to_groups(before, after, ratio(4, 200), ratio(6, 400))
    assert sum(each.amount for each in split) == Fraction(6, 400) - Fraction(4, 200)
    assert sum(each.rate for each in split) == 0
    better = {"mobile": ratio(2, 100), "desktop": ratio(6, 100)}
    doubled = attribute_change_to_groups(before, better, ratio(4, 200), ratio(8, 200))
    assert sum(each.rate for each in doubled) == Fraction(4, 200)


@pytest.mark.parametrize("seed", range(40))
def test_random_contributions_add_up_exactly_in_units(seed):
    chance = random.Random(seed)
    is_ratio = seed % 2 == 0

    def groups():
        names = chance.sample("abcdefgh", chance.randint(1, 8))
        return {
            name: ratio(chance.randint(0, 50), chance.randint(0, 90))
            if is_ratio
            else amount(chance.randint(0, 99))
            for name in names
        }

    before, after = groups(), groups()
    if is_ratio:
        totals = [
            ratio(sum(g.amount for g in each.values()), sum(g.base for g in each.values()) or 1)
            for each in (before, after)
        ]
    else:
        totals = [amount(chance.randint(0, 400)) for _ in (before, after)]
    split = attribute_change_to_groups(before, after, *totals)
    assert sum(each.amount for each in split) == totals[1].value - totals[0].value
    kept = keep_largest_and_sum_rest(split, chance.randint(1, 9))
    units = 1000
    change = round(totals[1].value * units) - round(totals[0].value * units)
    assert sum(each.amount for each in round_contributions_to_sum(kept, change, units)) == change
