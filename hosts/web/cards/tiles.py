"""Tiles: a metric of a range, its change against a comparison, and a link that draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hosts.web.cards.card import Answer, DisplayContext
from hosts.web.charts.number_format import UNKNOWN_VALUE

_LOWER_IS_BETTER: Final = frozenset({"bounce_rate", "refunds", "refund_rate"})
_MAX_PERCENT: Final = 9999
_SHORT_LABELS: Final = {"avg_session_duration": "Session duration"}


@dataclass(frozen=True, slots=True)
class Change:
    """A value against the one of another period.

    Attributes:
        text: without a sign that a colour alone would explain: ``+12.5 %``.
        verdict: ``good``, ``bad`` or ``same``.
        before: the compared value in words.
    """

    text: str
    verdict: str
    before: str


@dataclass(frozen=True, slots=True)
class Tile:
    """A metric.

    Attributes:
        metric: its id.
        text: its value in words.
        change: None where nothing is compared or known.
        note: why there is no value.
        link: query string of the page that draws it; empty when it cannot be drawn.
        current: whether it is drawn.
        explanation: query string of the page that explains the change.
        records: path and query string below the workspace of the records it counts; empty where none are listed.
    """

    metric: str
    label: str
    text: str
    change: Change | None
    note: str
    link: str
    current: bool
    explanation: str = ""
    records: str = ""


def build_tiles(
    metric_ids: Sequence[str],
    data: Answer | None,
    setting: DisplayContext,
    *,
    drawn: str,
    link_of: Callable[[str], str],
    explanation_of: Callable[[str], str],
) -> list[Tile]:
    """The tiles of metrics.

    Args:
        metric_ids: in their order.
        data: the answer of `POST /query` with those metrics that accept the filters; None when it failed.
        setting: of the workspace.
        drawn: the metric the chart shows.
        link_of: the query string that draws a metric.
        explanation_of: the query string that explains the change of a metric.
    """
    units = (
        {column["id"]: column["unit"] for column in data["columns"] if column["kind"] == "metric"}
        if data
        else {}
    )
    return [
        replace(
            _build_tile(id_, data, units, setting, link=link_of(id_), current=id_ == drawn),
            explanation=explanation_of(id_),
        )
        if data and id_ in units
        else Tile(
            id_, _label(id_, setting), UNKNOWN_VALUE, None, "Not with this filter" if data else "", "", False
        )
        for id_ in metric_ids
    ]


def _build_tile(
    metric: str, data: Answer, units: Answer, setting: DisplayContext, *, link: str, current: bool
) -> Tile:
    value, unit = data["totals"].get(metric), setting.format_for(units[metric], metric)
    before = data["comparison"]["totals"].get(metric) if data["comparison"] else None
    unavailable = any(one["metric"] == metric for one in data["meta"]["unavailable"])
    return Tile(
        metric,
        _label(metric, setting),
        unit.format_for_tile(value),
        None
        if value is None or before is None
        else describe_change(metric, unit.name, value, before, unit.format_for_tile(before)),
        ("Not measured" if unavailable else "No data") if value is None else "",
        link,
        current,
    )


def _label(metric: str, setting: DisplayContext) -> str:
    """The name of a metric, shorter where a tile has no room for it."""
    return _SHORT_LABELS.get(metric) or setting.label(metric)


def describe_change(metric: str, unit: str, value: float, before: float, before_text: str) -> Change:
    """The change of a value: in points for ratios, in per cent for anything else."""
    if value == before:
        return Change("No change", "same", before_text)
    rose = value > before
    verdict = "good" if rose is not (metric in _LOWER_IS_BETTER) else "bad"
    sign = "+" if rose else "−"  # noqa: RUF001 - a minus as wide as the plus
    if unit == "ratio":
        return Change(f"{sign}{abs(value - before) * 100:.1f} points", verdict, before_text)
    if before <= 0:
        return Change("New" if rose else "Lower", verdict, before_text)
    percent = abs(value - before) / before * 100
    text = f"over {_MAX_PERCENT:,} %" if percent > _MAX_PERCENT else f"{percent:,.1f} %"
    return Change(f"{sign}{text}", verdict, before_text)
