"""What a plot is made of: its axes, lines, bars and what a pointer finds, each at its place in per cent."""

from dataclasses import dataclass

from hosts.web.charts.curve import Point


@dataclass(frozen=True, slots=True)
class Bucket:
    """A step of the x axis: in short, in full, and whether it is not over yet or cut off."""

    label: str
    title: str
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name and a value per bucket; None where nothing was measured."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Tick:
    """A round value of the y axis."""

    y: float
    text: str


@dataclass(frozen=True, slots=True)
class AxisLabel:
    """A label of the x axis; a minor one gives way on narrow screens."""

    x: float
    text: str
    anchor: str
    minor: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """A line as path data: the run of whole buckets, the run that is not over, the area below, single points."""

    number: int
    line: str
    tail: str
    area: str
    dots: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a series."""

    number: int
    x: float
    y: float
    width: float
    height: float
    partial: bool


@dataclass(frozen=True, slots=True)
class HoverTarget:
    """What a pointer on a bucket shows."""

    left: float
    width: float
    x: float
    text: str
    anchor: str
    dots: tuple[tuple[float, int], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture of series, ready to be drawn."""

    label: str
    zero: float
    ticks: tuple[Tick, ...]
    marks: tuple[AxisLabel, ...]
    traces: tuple[Trace, ...]
    bars: tuple[Bar, ...]
    stops: tuple[HoverTarget, ...]
    names: tuple[str, ...]
