"""Straight segments between measured points: nothing is drawn that nobody measured."""

from collections.abc import Sequence

Point = tuple[float, float]


def straight_svg_path(points: Sequence[Point]) -> str:
    """SVG path data through points; empty for fewer than two."""
    if len(points) < 2:  # noqa: PLR2004 - a line has two ends
        return ""
    first, *rest = (f"{x:g} {y:g}" for x, y in points)
    return "".join((f"M{first}", *(f"L{point}" for point in rest)))
