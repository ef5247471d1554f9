"""Tables and small charts for the terminal."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_HEIGHT: Final = 6
_WIDTH: Final = 74
"""Columns of a chart at most: it fits a terminal of 80."""


def bars(values: Sequence[float]) -> list[str]:
    """Columns of equal width as `_HEIGHT` lines of text, the top line first."""
    top = max(values, default=0) or 1
    eighths = [round(value / top * _HEIGHT * 8) for value in values]
    return [
        "".join(_EIGHTHS[min(8, max(0, e - 8 * row))] for e in eighths) for row in reversed(range(_HEIGHT))
    ]


def chart(title: str, starts: Sequence[datetime], values: Sequence[float], zone: ZoneInfo) -> RenderableType:
    """A column chart over time with its highest column and its first and last bucket.

    Args:
        title: what is drawn.
        starts: UTC start of each bucket.
        values: one value per bucket; when there are too many to draw, neighbours are added up, so
            they must be additive.
        zone: zone the labels are written in.
    """
    if not values:
        return Text(f"{title}: no buckets in the range", style="dim")
    together = -(-len(values) // _WIDTH)
    columns = [sum(values[at : at + together]) for at in range(0, len(values), together)]
    wide = [value for value in columns for _ in range(max(1, min(4, _WIDTH // len(columns))))]
    first, last = (f"{start.astimezone(zone):%b %d %H:%M}" for start in (starts[0], starts[-1]))
    label = f"{title}, {together} together" if together > 1 else title
    return Group(
        Text(f"{label} (highest {number(max(columns))})", style="bold"),
        *(Text(line, style="cyan") for line in bars(wide)),
        Text(first + last.rjust(max(len(wide) - len(first), len(last) + 2)), style="dim"),
    )


def ranking(title: str, rows: Sequence[tuple[str, float, float]]) -> Table:
    """A table of names with a count, a bar and a share.

    Args:
        title: heading.
        rows: (name, count, percentage), highest first.
    """
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1), show_header=False
    )
    table.add_column(overflow="ellipsis", max_width=44, no_wrap=True)
    table.add_column(justify="right")
    table.add_column(style="cyan")
    table.add_column(justify="right", style="dim")
    top = max((count for _, count, _ in rows), default=0) or 1
    for name, count, share in rows:
        table.add_row(Text(name), number(count), "█" * max(1, round(count / top * 16)), f"{share:.1f} %")
    return table


def facts(title: str, pairs: Sequence[tuple[str, str]]) -> Table:
    """Names and values side by side."""
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1), show_header=False
    )
    table.add_column(style="dim")
    table.add_column(justify="right")
    for name, value in pairs:
        table.add_row(name, value)
    return table


def number(value: float) -> str:
    """A number as people read it: groups of three, at most three decimals."""
    return f"{value:,.3f}".rstrip("0").rstrip(".")
