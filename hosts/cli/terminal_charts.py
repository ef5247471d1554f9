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
_NAME: Final = 44
_BAR: Final = 16
_SHORT_BAR: Final = 4
_SHARE: Final = 7
_GAPS: Final = 8
"""Widths in a ranking: the longest name, a long and a short bar, a share, and the space around four columns."""


def render_column_chart_lines(values: Sequence[float]) -> list[str]:
    """Columns of equal width as `_HEIGHT` lines of text, the top line first."""
    top = max(values, default=0) or 1
    eighths = [round(value / top * _HEIGHT * 8) for value in values]
    return [
        "".join(_EIGHTHS[min(8, max(0, e - 8 * row))] for e in eighths) for row in reversed(range(_HEIGHT))
    ]


def render_chart_of_bucket_maxima(
    title: str,
    bucket_interval: str,
    starts: Sequence[datetime],
    values: Sequence[float],
    zone: ZoneInfo,
    width: int,
) -> RenderableType:
    """A column chart over time with its highest value and its first and last bucket.

    Args:
        title: what is drawn.
        bucket_interval: of a bucket, such as ``hour``.
        starts: UTC start of each bucket.
        values: one value per bucket; when there are too many to draw, a column is the highest of its
            neighbours, since not everything adds up.
        zone: zone the labels are written in.
        width: columns of the terminal.
    """
    if not values:
        return Text(f"{title}: no buckets in the range", style="dim")
    room = max(1, min(_WIDTH, width))
    together = -(-len(values) // room)
    columns = [max(values[at : at + together]) for at in range(0, len(values), together)]
    wide = [value for value in columns for _ in range(max(1, min(4, room // len(columns))))]
    first, last = (format_bucket(start, bucket_interval, zone, "%b %d") for start in (starts[0], starts[-1]))
    label = f"{title} per {bucket_interval}"
    if together > 1:
        label += f", the highest of every {together}"
    return Group(
        Text(f"{label} (at most {format_number(max(columns))})", style="bold"),
        *(Text(line, style="cyan") for line in render_column_chart_lines(wide)),
        Text(first + last.rjust(max(len(wide) - len(first), len(last) + 2)), style="dim"),
    )


def format_bucket(start: datetime, bucket_interval: str, zone: ZoneInfo, day_format: str = "%Y-%m-%d") -> str:
    """The start of a bucket by the clock of a zone: a day, and the time where buckets are shorter than one."""
    return f"{start.astimezone(zone):{f'{day_format} %H:%M' if bucket_interval == 'hour' else day_format}}"


def render_ranking_table_with_bars(
    title: str, rows: Sequence[tuple[str, float, float]], terminal_width: int
) -> Table:
    """A table of names with a count, a bar and a share.

    Args:
        title: heading.
        rows: (name, count, percentage), highest first.
        terminal_width: columns of the terminal; names and bars give way to the numbers.
    """
    counts = [format_number(count) for _, count, _ in rows]
    room = terminal_width - max(map(len, counts), default=0) - _SHARE - _GAPS
    longest = min(_NAME, max((len(name) for name, _, _ in rows), default=_BAR), max(1, room - _SHORT_BAR))
    bar = min(_BAR, max(_SHORT_BAR, room - longest))
    table = _borderless_titled_table(title)
    table.add_column(overflow="ellipsis", max_width=longest, no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(justify="right", style="dim", no_wrap=True)
    top = max((count for _, count, _ in rows), default=0) or 1
    if not rows:
        table.add_row(Text("nothing", style="dim"))
    for (name, count, share), formatted_count in zip(rows, counts, strict=True):
        table.add_row(Text(name), formatted_count, "█" * max(1, round(count / top * bar)), f"{share:.1f} %")
    return table


def render_name_value_table(title: str, pairs: Sequence[tuple[str, str]]) -> Table:
    """Names and values side by side."""
    table = _borderless_titled_table(title)
    table.add_column(style="dim")
    table.add_column(justify="right")
    for name, value in pairs:
        table.add_row(Text(name), value)
    return table


def _borderless_titled_table(title: str) -> Table:
    """A table without lines, its title on one line."""
    return Table(
        title=Text(title, "bold"),
        title_justify="left",
        min_width=len(title),
        box=None,
        padding=(0, 1),
        show_header=False,
    )


def format_number(value: float) -> str:
    """A number as people read it: groups of three, at most three decimals."""
    return f"{value:,.3f}".rstrip("0").rstrip(".")
