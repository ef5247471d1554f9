"""Removal effects in a Markov chain of order 1 over touch keys.

States are the start, the keys and two ends, conversion and loss; removing a key sends every step
into it to the loss. With ``N``, the inverse of ``I - Q`` (how often each state is visited on the
way), ``N[s][i] / N[i][i]`` is the chance to reach ``i`` at all, so what its removal loses is that
times the chance to convert from ``i``: one inverse serves all keys, instead of a system for each.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from plugins.attribution_models.matrix import invert_absorbing_chain_matrix
from service_core.plugin import TouchKey, TouchPath

START_STATE: Final = 0
"""State of a path before its first touch; the keys follow it."""


def compute_markov_removal_effects(paths: Sequence[TouchPath]) -> Mapping[TouchKey, float]:
    """Returns the removal effect of each key: ``1 - P(without the key) / P``."""
    keys = sorted({key for path in paths for key in path.keys}, key=repr)
    steps, wins = _compute_step_and_conversion_probabilities(
        paths, {key: state for state, key in enumerate(keys, start=1)}
    )
    visits = invert_absorbing_chain_matrix(
        [[float(a == b) - step for b, step in enumerate(row)] for a, row in enumerate(steps)]
    )
    chances = [sum(n * win for n, win in zip(row, wins, strict=True)) for row in visits]
    return {
        key: visits[START_STATE][i] / visits[i][i] * chances[i] / chances[START_STATE]
        for i, key in enumerate(keys, start=1)
    }


def _compute_step_and_conversion_probabilities(
    paths: Sequence[TouchPath], state_by_key: Mapping[TouchKey, int]
) -> tuple[list[list[float]], list[float]]:
    """Returns the probabilities of a step from state to state, and from each state to the conversion."""
    size = len(state_by_key) + 1
    steps = [[0.0] * size for _ in range(size)]
    wins = [0.0] * size
    leaving = [0] * size
    for path in paths:
        count = path.converted + path.unconverted
        states_visited = [START_STATE, *(state_by_key[key] for key in path.keys)]
        for a, b in pairwise(states_visited):
            steps[a][b] += count
        wins[states_visited[-1]] += path.converted
        for state in states_visited:
            leaving[state] += count
    chances = [[n / leaving[a] if n else 0.0 for n in row] for a, row in enumerate(steps)]
    return chances, [won / leaving[a] if won else 0.0 for a, won in enumerate(wins)]
