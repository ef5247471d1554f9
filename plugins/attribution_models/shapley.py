"""Shapley values of touch keys.

With ``v(S)`` = conversions, or money, of the paths whose keys all lie in ``S``, a path adds its conversions to
every set that contains its key set: a unanimity game, whose value is the even split. Values add up
over paths, so no set is ever enumerated.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from service_core.plugin import TouchKey, TouchPath


def split_conversions_over_distinct_keys(paths: Sequence[TouchPath]) -> Mapping[TouchKey, Fraction]:
    """Returns the conversions per key: those of each path, split evenly over its different keys."""
    conversions: Counter[tuple[TouchKey, ...]] = Counter()
    for path in paths:
        conversions[path.keys] += path.converted
    return split_amounts_over_distinct_keys(conversions)


def split_amounts_over_distinct_keys(
    amounts: Mapping[tuple[TouchKey, ...], int],
) -> Mapping[TouchKey, Fraction]:
    """Returns the amount per key: that of each path, split evenly over its different keys."""
    amount_by_key: dict[TouchKey, Fraction] = defaultdict(Fraction)
    for path_keys, amount in amounts.items():
        keys = set(path_keys)
        for key in keys:
            amount_by_key[key] += Fraction(amount, len(keys))
    return amount_by_key
