"""The picture in previews of a public link: the first chart of its page, without words, as PNG."""

import struct
import zlib
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import hypot
from typing import Final

from hosts.web.cards.card import Card
from hosts.web.charts.plot_model import Plot
from hosts.web.charts.polyline import Point
from hosts.web.charts.proportion_charts import Row

WIDTH: Final = 1200
HEIGHT: Final = 630
_MARGIN: Final = 60
_LINE: Final = 4
"""Half of the thickness of a line."""

_MAX_ROWS: Final = 8
_PAPER, _AREA, _INK, _TRACK = range(4)
_PALETTE: Final = bytes.fromhex("ffffffe3ebf12d6f91ebebe6")

Columns = Sequence[bytearray]
"""Colours of the pixels of each column, from the top."""


def draw_first_chart(cards: Iterable[Card]) -> bytes | None:
    """Returns the picture of the first card with a line or a bar list; None without one."""
    card = next(filter(_can_be_drawn, cards), None)
    if card is None:
        return None
    if isinstance(card.figure, Plot):
        return _encode_png(_draw_line(_segments_of_first_series(card.figure)))
    return _encode_png(_draw_bars(card.figure[:_MAX_ROWS]))


def has_chart(cards: Iterable[Card]) -> bool:
    """Whether `draw_first_chart` has something to draw."""
    return any(map(_can_be_drawn, cards))


def _can_be_drawn(card: Card) -> bool:
    if isinstance(card.figure, Plot):
        return bool(_segments_of_first_series(card.figure))
    return card.shape == "rows" and bool(card.figure)


def _segments_of_first_series(plot: Plot) -> list[tuple[Point, Point]]:
    """Neighbouring measured points, from the left, in per cent of width and height; none across a gap."""
    points = [next(((stop.x, y) for y, number in stop.dots if number == 1), None) for stop in plot.stops]
    return [(start, end) for start, end in pairwise(points) if start and end]


def _blank_columns() -> list[bytearray]:
    return [bytearray(HEIGHT) for _ in range(WIDTH)]


def _draw_line(segments: Iterable[tuple[Point, Point]]) -> Columns:
    columns, floor = _blank_columns(), HEIGHT - _MARGIN
    for first, second in segments:
        (left, start), (right, end) = (
            (_pixel_between_margins(x, WIDTH), _pixel_between_margins(y, HEIGHT)) for x, y in (first, second)
        )
        width = max(right - left, 1)
        half = round(_LINE * hypot(width, end - start) / width)
        highest, lowest = min(start, end) - _LINE, max(start, end) + _LINE
        for x in range(left, left + width):
            y = start + (end - start) * (x - left) // width
            _fill(columns[x], y, floor, _AREA)
            _fill(columns[x], max(y - half, highest), min(y + half, lowest), _INK)
    return columns


def _draw_bars(rows: Sequence[Row]) -> Columns:
    columns = _blank_columns()
    step = (HEIGHT - 2 * _MARGIN) // len(rows)
    for number, row in enumerate(rows):
        top = _MARGIN + number * step
        reached = _pixel_between_margins(row.width, WIDTH)
        for x in range(_MARGIN, WIDTH - _MARGIN):
            _fill(columns[x], top, top + step * 2 // 3, _INK if x < reached else _TRACK)
    return columns


def _pixel_between_margins(per_cent: float, size: int) -> int:
    """Returns the pixel at a share of the width or height between the margins."""
    return _MARGIN + round((size - 2 * _MARGIN) * min(max(per_cent, 0), 100) / 100)


def _fill(column: bytearray, top: int, bottom: int, colour: int) -> None:
    top, bottom = max(top, 0), min(bottom, HEIGHT)
    if bottom > top:
        column[top:bottom] = bytes([colour]) * (bottom - top)


def _encode_png(columns: Columns) -> bytes:
    """Returns an image with one byte for each pixel, which names a colour of the palette."""
    lines = b"".join(b"\0" + bytes(line) for line in zip(*columns, strict=True))
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", _PALETTE), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_encode_chunk, chunks))


def _encode_chunk(chunk: tuple[bytes, bytes]) -> bytes:
    name, data = chunk
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
