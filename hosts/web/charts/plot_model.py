"""What a plot is made of: its axes, lines, bars and what a pointer finds, each at its place in per cent."""

from dataclasses import dataclass
from datetime import datetime

from hosts.web.charts.polyline import Point


@dataclass(frozen=True, slots=True)
class Bucket:
    """A step of the x axis: in short, in full, and whether it is not over yet or cut off.

    Attributes:
        first_day: its first local day in ISO 8601.
        start: its first instant; None on an axis that is not of time.
        end: the first instant after it.
    """

    label: str
    title: str
    partial: bool = False
    first_day: str = ""
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """A line: its name and a value per bucket; None where nothing was measured.

    Attributes:
        titles: per bucket the bucket it was measured in, where that is another one: of a comparison.
    """

    name: str
    values: tuple[float | None, ...]
    titles: tuple[str, ...] = ()


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
    """A line as path data: the run of whole buckets, the run that is not over, the area below, single points.

    Attributes:
        compared: whether it shows the period the others are compared with.
    """

    number: int
    line: str
    tail: str
    area: str
    dots: tuple[Point, ...]
    compared: bool = False


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
    """What a pointer on a bucket shows.

    Attributes:
        title: the bucket in words.
        values: number of the series, its name or the bucket it is compared with, and its value in words.
        first_day: first local day of the bucket in ISO 8601.
    """

    left: float
    width: float
    x: float
    title: str
    values: tuple[tuple[int, str, str], ...]
    anchor: str
    dots: tuple[tuple[float, int], ...]
    first_day: str = ""


@dataclass(frozen=True, slots=True)
class PlottedBucket:
    """Where a bucket of time stands.

    Attributes:
        start: its first instant.
        end: the first instant after it.
        x: of its points.
    """

    start: datetime
    end: datetime
    x: float


@dataclass(frozen=True, slots=True)
class AnnotationMark:
    """A line across the plot with a number, explained in the list below the chart."""

    x: float
    number: int


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
    buckets: tuple[PlottedBucket, ...] = ()
    annotations: tuple[AnnotationMark, ...] = ()
