"""Shapley values of touch keys.

With ``v(S)`` = conversions of the paths whose keys all lie in ``S``, a path adds its conversions to
every set that contains its key set: a unanimity game, whose value is the even split. Values add up
over paths, so no set is ever enumerated.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from service_core.plugin import TouchKey, TouchPath


def split_conversions_over_distinct_keys(paths: Sequence[TouchPath]) -> Mapping[TouchKey, Fraction]:
    """Returns the conversions per key: those of each path, split evenly over its different keys."""
    conversions: dict[TouchKey, Fraction] = defaultdict(Fraction)
    for path in paths:
        keys = set(path.keys)
        for key in keys:
            conversions[key] += Fraction(path.converted, len(keys))
    return conversions
