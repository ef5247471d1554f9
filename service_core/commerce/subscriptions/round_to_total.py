"""Rounds amounts so that they add up to a rounded total."""

from collections.abc import Sequence
from fractions import Fraction
from math import floor


def round_changes_to_rounded_totals(start: Fraction, changes: Sequence[Fraction], end: Fraction) -> list[int]:
    """Returns the changes rounded so that they add up from the rounded start to the rounded end.

    Each is rounded up or down by largest remainder; a change of 0 stays 0.

    Args:
        start: exact value before the changes.
        changes: exact changes.
        end: exact sum of ``start`` and all changes.
    """
    whole = [floor(move) for move in changes]
    left = round(end) - round(start) - sum(whole)
    order = sorted(
        (place for place, move in enumerate(changes) if move),
        key=lambda place: whole[place] - changes[place],
        reverse=left < 0,
    )
    for place in order[: abs(left)]:
        whole[place] += 1 if left > 0 else -1
    return whole
