"""Lines, areas and bars over time.

A plot is as wide as the card it stands in, so x is in per cent of the width and y in per cent of the
height: lines keep their weight and texts their size on every screen.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Final, Literal

from hosts.web.charts.number_format import ValueFormat
from hosts.web.charts.plot_model import (
    AxisLabel,
    Bar,
    Bucket,
    HoverTarget,
    Plot,
    PlottedBucket,
    Series,
    Tick,
    Trace,
)
from hosts.web.charts.polyline import Point, straight_svg_path
from hosts.web.charts.scale import Scale, build_scale_including_zero

Style = Literal["line", "area", "bar"]

MAX_HOVER_TARGETS: Final = 400
"""Buckets up to which each one answers a pointer; beyond that they are narrower than it."""

AXIS_LABELS: Final = 6
_LEAST_GAP_OF_LAST_LABEL: Final = 0.75
"""Of the distance of two labels: the last one stands at the edge, its text to the left of it."""

_LEAST_GAP_OF_MAJOR_LABELS: Final = 25.0
"""Per cent of the width."""

_GAP: Final = 0.28
_MAX_BAR_WIDTH: Final = 14.0
_FIRST_THIRD, _LAST_THIRD = 30.0, 70.0


def build_plot(
    label: str, buckets: Sequence[Bucket], series: Sequence[Series], *, unit: ValueFormat, style: Style
) -> Plot:
    """Place series in a picture.

    Args:
        label: what the picture shows, for who cannot see it.
        buckets: the x axis; at least one.
        series: each with a value per bucket.
        unit: of all values.
        style: bars of several series stand side by side; an area is filled for a single series only.
    """
    known = (value for line in series for value in line.values if value is not None)
    several = sum(not line.titles for line in series) > 1
    scale = build_scale_including_zero(known, whole_ticks_only=unit.is_whole)
    spots = _bucket_positions_in_percent(len(buckets), style)
    return Plot(
        label=label,
        zero=scale.y(0),
        ticks=tuple(Tick(scale.y(value), unit.format_for_axis(value)) for value in scale.ticks),
        marks=_build_about_six_axis_labels(buckets, spots),
        traces=()
        if style == "bar"
        else tuple(
            _build_line_with_partial_tail(
                number, line, buckets, spots, scale, filled=style == "area" and number == 1 and not several
            )
            for number, line in enumerate(series, 1)
        ),
        bars=_build_side_by_side_bars(buckets, series, scale) if style == "bar" else (),
        stops=_build_hover_targets(buckets, series, spots, scale, unit)
        if len(buckets) <= MAX_HOVER_TARGETS
        else (),
        names=tuple(line.name for line in series),
        buckets=tuple(
            PlottedBucket(bucket.start, bucket.end, x)
            for bucket, x in zip(buckets, spots, strict=True)
            if bucket.start is not None and bucket.end is not None
        ),
    )


def _bucket_positions_in_percent(count: int, style: Style) -> tuple[float, ...]:
    """Where buckets stand: a line runs from edge to edge, a bar has its room on both sides."""
    if style == "bar" or count == 1:
        return tuple(round((index + 0.5) * 100 / count, 2) for index in range(count))
    return tuple(round(index * 100 / (count - 1), 2) for index in range(count))


def _build_about_six_axis_labels(
    buckets: Sequence[Bucket], x_positions: Sequence[float]
) -> tuple[AxisLabel, ...]:
    """About six labels, one under the first and one under the last bucket; narrow cards show only the major ones."""
    every, last = max(1, -(-len(buckets) // AXIS_LABELS)), len(buckets) - 1
    spaced = [index for index in range(0, last, every) if last - index > every * _LEAST_GAP_OF_LAST_LABEL]
    chosen = [*spaced, last]
    major = _indexes_of_major_labels(chosen, x_positions)
    return tuple(
        AxisLabel(
            x_positions[index],
            buckets[index].label,
            _label_anchor(x_positions[index]),
            minor=index not in major,
        )
        for index in chosen
    )


def _indexes_of_major_labels(chosen: Sequence[int], x_positions: Sequence[float]) -> set[int]:
    """The first, the last, and those between that are far from them and from each other."""
    first, *between, last = chosen if len(chosen) > 1 else (*chosen, *chosen)
    major = [first]
    for index in between:
        gaps = (
            x_positions[index] - x_positions[major[-1]],
            x_positions[last] - x_positions[index],
        )
        if min(gaps) >= _LEAST_GAP_OF_MAJOR_LABELS:
            major.append(index)
    return {*major, last}


def _label_anchor(x: float) -> str:
    if x < 8:  # noqa: PLR2004 - per cent: closer to an edge, half a label would be cut off
        return "start"
    return "end" if x > 92 else "middle"  # noqa: PLR2004


def _build_line_with_partial_tail(
    series_number: int,
    series: Series,
    buckets: Sequence[Bucket],
    x_positions: Sequence[float],
    scale: Scale,
    *,
    filled: bool,
) -> Trace:
    runs = _split_at_gaps(series, x_positions, scale)
    last = len(buckets) - 1
    open_end = last > 0 and buckets[last].partial and not series.titles and series.values[last] is not None
    solid, tail = _split_partial_bucket(runs) if open_end and len(runs[-1]) > 1 else (runs, [])
    return Trace(
        series_number,
        "".join(straight_svg_path(run) for run in solid),
        straight_svg_path(tail),
        "".join(_area_path(run, scale.y(0)) for run in (*solid, tail)) if filled else "",
        tuple(run[0] for run in runs if len(run) == 1),
        compared=bool(series.titles),
    )


def _split_at_gaps(series: Series, x_positions: Sequence[float], scale: Scale) -> list[list[Point]]:
    """Points without a gap between them; nothing is drawn where nothing was measured."""
    points = zip(x_positions, series.values, strict=True)
    return [
        [(x, scale.y(value)) for x, value in run if value is not None]
        for known, run in groupby(points, key=lambda point: point[1] is not None)
        if known
    ]


def _split_partial_bucket(runs: list[list[Point]]) -> tuple[list[list[Point]], list[Point]]:
    """The runs without their last step, and that step."""
    *before, last = runs
    return [*before, last[:-1]], last[-2:]


def _area_path(run: Sequence[Point], zero: float) -> str:
    """What lies between a line and zero."""
    line = straight_svg_path(run)
    return f"{line}L{run[-1][0]:g} {zero:g}L{run[0][0]:g} {zero:g}Z" if line else ""


def _build_side_by_side_bars(
    buckets: Sequence[Bucket], series: Sequence[Series], scale: Scale
) -> tuple[Bar, ...]:
    room = 100 / len(buckets)
    width = min(room * (1 - _GAP), _MAX_BAR_WIDTH) / len(series)
    bars = []
    for number, bar_series in enumerate(series, 1):
        for index, value in enumerate(bar_series.values):
            if not value:
                continue
            left = (index + 0.5) * room + (number - 1 - len(series) / 2) * width
            top, bottom = sorted((scale.y(value), scale.y(0)))
            size = round(left, 3), top, round(width, 3), round(bottom - top, 2)
            bars.append(Bar(number, *size, partial=buckets[index].partial))
    return tuple(bars)


def _build_hover_targets(
    buckets: Sequence[Bucket],
    series: Sequence[Series],
    x_positions: Sequence[float],
    scale: Scale,
    unit: ValueFormat,
) -> tuple[HoverTarget, ...]:
    edges = [0.0, *((a + b) / 2 for a, b in pairwise(x_positions)), 100.0]
    return tuple(
        HoverTarget(
            left=round(edges[index], 2),
            width=round(edges[index + 1] - edges[index], 2),
            x=x_positions[index],
            title=bucket.title + (" (so far)" if bucket.partial else ""),
            values=_hover_values(index, series, unit),
            anchor=_hover_anchor(x_positions[index]),
            dots=tuple(
                (scale.y(value), number)
                for number, line in enumerate(series, 1)
                if (value := line.values[index]) is not None
            ),
            first_day=bucket.first_day,
        )
        for index, bucket in enumerate(buckets)
    )


def _hover_values(
    index: int, series: Sequence[Series], unit: ValueFormat
) -> tuple[tuple[int, str, str], ...]:
    """Number, name and value of each series in a bucket; a single series goes without its name."""
    return tuple(
        (
            number,
            (line.titles[index] if line.titles else line.name) if len(series) > 1 else "",
            unit.format_in_full_or_dash(line.values[index]),
        )
        for number, line in enumerate(series, 1)
    )


def _hover_anchor(x: float) -> str:
    if x < _FIRST_THIRD:
        return "start"
    return "end" if x > _LAST_THIRD else "middle"
