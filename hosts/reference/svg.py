"""The few shapes the pictures of the architecture page need, as SVG that follows a light or dark theme."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from textwrap import wrap
from typing import Final, Literal

WIDTH: Final = 860
_MARGIN: Final = 16
_INDENT: Final = 40
_LINE: Final = 18
_GAP: Final = 26
_CHARACTERS: Final = 108
"""Characters of a description in one line of a box."""
_STYLE: Final = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.name { font-weight: 600 }
.lane { fill: #f6f8fa; stroke: #d0d7de }
.code { fill: #ffffff; stroke: #8c959f }
.store { fill: #ddf4ff; stroke: #0969da }
.client { fill: #fff8c5; stroke: #9a6700 }
.muted { fill: #57606a }
.arrow { stroke: #57606a; stroke-width: 1.5; fill: none; marker-end: url(#head) }
.head { fill: #57606a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .lane { fill: #161b22; stroke: #30363d }
  .code { fill: #0d1117; stroke: #6e7681 }
  .store { fill: #0c2d6b; stroke: #58a6ff }
  .client { fill: #3b2300; stroke: #d29922 }
  .muted { fill: #9198a1 }
  .arrow { stroke: #9198a1 }
  .head { fill: #9198a1 }
}
"""

Kind = Literal["client", "code", "store"]


@dataclass(frozen=True, slots=True)
class Box:
    """A box of a picture.

    Attributes:
        name: the first line, in bold.
        text: what it does; wrapped.
        lane: title of the frame around it and its neighbours of the same lane.
        kind: which colours it has.
    """

    name: str
    text: str
    lane: str
    kind: Kind = "code"


def draw_stack_with_side_arrow(title: str, boxes: Sequence[Box], *, side_arrow_text: str) -> str:
    """Boxes one above the other in their lanes, with one arrow down the left side that `arrow` explains."""
    return _draw_boxes_in_lanes(title, boxes, gap=8, side_arrow_text=side_arrow_text)


def draw_flow(title: str, boxes: Sequence[Box]) -> str:
    """Boxes one above the other in their lanes, with an arrow from each to the next.

    Clients, and stores, that follow each other are alternatives: no arrow leads from one to the next.
    """
    return _draw_boxes_in_lanes(title, boxes, gap=_GAP, side_arrow_text=None)


def _draw_boxes_in_lanes(title: str, boxes: Sequence[Box], *, gap: int, side_arrow_text: str | None) -> str:
    parts: list[str] = []
    y = _MARGIN + (28 if side_arrow_text else 0)
    start = y
    previous: Box | None = None
    end = 0
    for lane, group in groupby(boxes, lambda box: box.lane):
        inside: list[str] = []
        top, y = y, y + 28
        for box in group:
            lines = wrap(box.text, _CHARACTERS)
            height = 14 + _LINE * (1 + len(lines))
            if side_arrow_text is None and previous is not None and not previous.kind == box.kind != "code":
                inside.append(_arrow(end, y))
            inside += _box_with_text_lines(box, lines, y, height)
            previous, end = box, y + height
            y += height + gap
        y += 12 - gap
        parts.append(_rectangle("lane", _MARGIN, top, WIDTH - 2 * _MARGIN, y - top))
        parts.append(_text(_INDENT - 8, top + 19, lane, "muted"))
        parts += inside
        y += gap
    height = y - gap + _MARGIN
    if side_arrow_text is not None:
        parts.append(f'<path class="arrow" d="M{_MARGIN + 10} {start + 34} V{height - _MARGIN - 14}"/>')
        parts.append(_text(_MARGIN, _MARGIN + 12, side_arrow_text, "muted"))
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{_STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">',
            '<path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>',
            *parts,
            "</svg>\n",
        )
    )


def _box_with_text_lines(box: Box, lines: Iterable[str], y: int, height: int) -> list[str]:
    shape = _rectangle(
        box.kind, _INDENT, y, WIDTH - 2 * _INDENT, height, radius=14 if box.kind == "store" else 4
    )
    texts = [_text(_INDENT + 14, y + 20 + _LINE * number, line, "") for number, line in enumerate(lines, 1)]
    return [shape, _text(_INDENT + 14, y + 20, box.name, "name"), *texts]


def _rectangle(kind: str, x: int, y: int, width: int, height: int, *, radius: int = 6) -> str:
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>'


def _text(x: int, y: int, text: str, kind: str) -> str:
    return f'<text{f" class={kind!r}" if kind else ""} x="{x}" y="{y}">{escape(text)}</text>'


def _arrow(start: int, end: int) -> str:
    return f'<path class="arrow" d="M{WIDTH - 140} {start + 2} V{end - 2}"/>'
