"""Parts of a whole: slices of a ring, bars of a list and steps of a funnel."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MAX_SLICES: Final = 6
_RADIUS: Final = 42.0
_FULL_CIRCLE_SHARE: Final = 0.9999


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a ring: an arc as path data in a square of 100, or the whole circle when it is empty."""

    number: int
    name: str
    text: str
    share: float
    arc: str


@dataclass(frozen=True, slots=True)
class Ring:
    """A ring, and what stands in it."""

    label: str
    middle: str
    slices: tuple[Slice, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a bar list: the bar is in per cent of the longest one.

    Attributes:
        link: query string of the page that is filtered by the row; empty where a click does nothing.
        records: address of the records that the text counts; empty where they are not listed.
    """

    name: str
    text: str
    share: str
    width: float
    link: str = ""
    records: str = ""


def build_ring_of_first_six_parts(
    label: str, center_text: str, parts: Sequence[tuple[str, float, str]]
) -> Ring:
    """A ring of parts.

    Args:
        label: what it shows.
        center_text: the text in it.
        parts: name, size (at least zero) and text; from the seventh on they are left out, so
            gather them before.
    """
    whole = sum(size for _, size, _ in parts) or 1.0
    slices, start = [], 0.0
    for number, (name, size, text) in enumerate(parts[:MAX_SLICES], 1):
        share = size / whole
        slices.append(
            Slice(number, name, text, share, _arc_path_or_empty_for_none_or_full_circle(start, start + share))
        )
        start += share
    return Ring(label, center_text, tuple(slices))


def build_gauge(label: str, middle: str, name: str, share: float) -> Ring:
    """A ring that is filled by one share of 1."""
    filled = max(0.0, min(1.0, share))
    return Ring(
        label,
        middle,
        (Slice(1, name, middle, filled, _arc_path_or_empty_for_none_or_full_circle(0.0, filled)),),
    )


def build_bars_relative_to_longest(parts: Sequence[tuple[str, float | None, str, str]]) -> tuple[Row, ...]:
    """A bar list.

    Args:
        parts: name, size, the size in words and its share in words.
    """
    longest = max((size for _, size, _, _ in parts if size is not None), default=0.0)
    return tuple(
        Row(name, text, share, round(100 * max(size or 0.0, 0.0) / longest, 2) if longest > 0 else 0.0)
        for name, size, text, share in parts
    )


def _arc_path_or_empty_for_none_or_full_circle(start: float, end: float) -> str:
    """The arc between two shares of a turn, clockwise from the top."""
    if end - start >= _FULL_CIRCLE_SHARE or end <= start:
        return ""
    (x1, y1), (x2, y2) = (_point_on_circle(at) for at in (start, end))
    large = int(end - start > 0.5)  # noqa: PLR2004 - half a turn
    return f"M{x1:.3f} {y1:.3f}A{_RADIUS:g} {_RADIUS:g} 0 {large} 1 {x2:.3f} {y2:.3f}"


def _point_on_circle(turn: float) -> tuple[float, float]:
    angle = turn * 2 * math.pi
    return 50 + _RADIUS * math.sin(angle), 50 - _RADIUS * math.cos(angle)
