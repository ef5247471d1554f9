"""Removal effects in a Markov chain of order 1 over touch keys.

States are the start, the keys and two ends, conversion and loss; removing a key sends every step
into it to the loss. With ``N``, the inverse of ``I - Q`` (how often each state is visited on the
way), ``N[s][i] / N[i][i]`` is the chance to reach ``i`` at all, so what its removal loses is that
times the chance to convert from ``i``: one inverse serves all keys, instead of a system for each.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from plugins.attribution_models.matrix import invert_absorbing_chain
from service_core.plugin import TouchKey, TouchPath

START_STATE: Final = 0
"""State of a path before its first touch; the keys follow it."""


def compute_removal_effects(paths: Sequence[TouchPath]) -> Mapping[TouchKey, float]:
    """Removal effect per key: ``1 - P(without the key) / P`` (semantics 9)."""
    keys = sorted({key for path in paths for key in path.keys}, key=repr)
    steps, wins = _transition_probabilities(paths, {key: state for state, key in enumerate(keys, start=1)})
    visits = invert_absorbing_chain(
        [[float(a == b) - step for b, step in enumerate(row)] for a, row in enumerate(steps)]
    )
    chances = [sum(n * win for n, win in zip(row, wins, strict=True)) for row in visits]
    return {
        key: visits[START_STATE][i] / visits[i][i] * chances[i] / chances[START_STATE]
        for i, key in enumerate(keys, start=1)
    }


def _transition_probabilities(
    paths: Sequence[TouchPath], states: Mapping[TouchKey, int]
) -> tuple[list[list[float]], list[float]]:
    """Chances of a step from state to state, and of a step from each state to the conversion."""
    size = len(states) + 1
    steps = [[0.0] * size for _ in range(size)]
    wins = [0.0] * size
    leaving = [0] * size
    for path in paths:
        walked = path.converted + path.unconverted
        walk = [START_STATE, *(states[key] for key in path.keys)]
        for a, b in pairwise(walk):
            steps[a][b] += walked
        wins[walk[-1]] += path.converted
        for state in walk:
            leaving[state] += walked
    chances = [[n / leaving[a] if n else 0.0 for n in row] for a, row in enumerate(steps)]
    return chances, [won / leaving[a] if won else 0.0 for a, won in enumerate(wins)]
