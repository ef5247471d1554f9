"""A smooth line through points that never rises above or falls below them (Fritsch and Carlson, 1980)."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

Point = tuple[float, float]

_MAX_SLOPE_RATIO: Final = 3.0


def monotone_curve_svg_path(points: Sequence[Point]) -> str:
    """SVG path data through points with ascending x; empty for fewer than two."""
    if len(points) < 2:  # noqa: PLR2004 - a line has two ends
        return ""
    slopes = _monotone_slopes(points)
    steps = [f"M{points[0][0]:g} {points[0][1]:g}"]
    for (start, end), (leave, arrive) in zip(pairwise(points), pairwise(slopes), strict=True):
        third = (end[0] - start[0]) / 3
        control = (start[0] + third, start[1] + leave * third, end[0] - third, end[1] - arrive * third)
        steps.append("C" + " ".join(f"{number:.2f}" for number in (*control, *end)))
    return "".join(steps)


def _monotone_slopes(points: Sequence[Point]) -> list[float]:
    """The slope at each point: the mean of both sides, none at a turn, and never steep enough to overshoot."""
    secants = [(end[1] - start[1]) / (end[0] - start[0]) for start, end in pairwise(points)]
    slopes = [secants[0], *(_mean_slope(*sides) for sides in pairwise(secants)), secants[-1]]
    return [
        _limit_slope(slope, secants[max(index - 1, 0)], secants[min(index, len(secants) - 1)])
        for index, slope in enumerate(slopes)
    ]


def _mean_slope(before: float, after: float) -> float:
    return 0.0 if before * after <= 0 else (before + after) / 2


def _limit_slope(slope: float, before: float, after: float) -> float:
    most = _MAX_SLOPE_RATIO * min(abs(before), abs(after))
    return max(-most, min(most, slope))
