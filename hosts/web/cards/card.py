"""A card: a picture with its numbers, as a template shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

from hosts.web.charts.number_format import ValueFormat

Shape = Literal["numbers", "plot", "ring", "rows", "steps", "table", "message"]
Answer = Mapping[str, Any]
"""An answer of the API as JSON values."""

UNSET: Final = "(not set)"


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers for who reads instead of looks.

    Attributes:
        head: titles of the columns.
        rows: texts, as many as the head has.
        names: how many columns at the left hold names; the others hold numbers.
        links: address of the page of each row; empty where rows lead nowhere.
        number_links: for each row the addresses of the records behind its numbers; empty where they lead nowhere.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    links: tuple[str, ...] = ()
    number_links: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Number:
    """A value that stands for itself.

    Attributes:
        link: address of the records behind it; empty where it leads nowhere.
    """

    label: str
    text: str
    unknown: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a funnel; the bar is in per cent of the first step.

    Attributes:
        reached: address of the people who reached it; empty where they are not listed.
        lost: of those who dropped off before it.
    """

    number: int
    name: str
    count: str
    rate: str
    dropped: str
    width: float
    reached: str = ""
    lost: str = ""


@dataclass(frozen=True, slots=True)
class ChartAnnotation:
    """An annotation below a chart.

    Attributes:
        number: of its mark in the chart.
        when: day and time in words.
        text: what happened.
        is_private: only the reader sees it.
        id: of the annotation.
    """

    number: int
    when: str
    text: str
    is_private: bool
    id: str


@dataclass(frozen=True, slots=True)
class Card:
    """One answer.

    Attributes:
        title: what it is about.
        shape: which picture it has.
        figure: the value of `charts` that belongs to the shape; of a message its text.
        numbers: values that stand above a plot.
        table: the same in numbers; None when the picture is a table or a text itself.
        notes: what a reader has to know to read it right.
        size: ``sm``, ``md`` or ``lg``.
        covers: the range in words, where cards of one page differ in it.
        annotations: what the marks of a plot stand for.
    """

    title: str
    shape: Shape
    figure: Any
    numbers: tuple[Number, ...] = ()
    table: Table | None = None
    notes: tuple[str, ...] = ()
    size: str = "md"
    covers: str | None = None
    annotations: tuple[ChartAnnotation, ...] = ()


@dataclass(frozen=True, slots=True)
class DisplayContext:
    """What answers do not say themselves.

    Attributes:
        zone: of the workspace.
        currency: of its amounts.
        labels: id of a metric or dimension -> its name.
        multiples: ids of the metrics that are read as multiples.
    """

    zone: ZoneInfo
    currency: str
    labels: Mapping[str, str] = field(default_factory=dict)
    multiples: frozenset[str] = frozenset()

    def label(self, id_: str) -> str:
        """The name of a metric or dimension."""
        return self.labels.get(id_) or id_.replace("_", " ").capitalize()

    def format_for(self, unit: str, metric_id: str = "") -> ValueFormat:
        """A unit of the catalog, which a metric may have, with the workspace's currency."""
        return ValueFormat("multiple" if metric_id in self.multiples else unit, self.currency)


def message_card(title: str, text: str, size: str = "md") -> Card:
    """A card that says why it shows nothing."""
    return Card(title, "message", text, size=size)


def parse_instant(text: str) -> datetime:
    """An instant of an answer."""
    return datetime.fromisoformat(text)


def dimension_label(value: object) -> str:
    """The name in a dimension's column."""
    return UNSET if value is None or value == "" else str(value)
