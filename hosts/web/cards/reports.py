"""Cards of saved reports: what `POST /reports/{reportId}/run` answers (contract 5.6)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

from hosts.web.cards.card import Answer, Card, Number, Setting, Shape, Step, Table, instant, message, name_of
from hosts.web.cards.queries import query_card
from hosts.web.charts.days import bucket_at, size_of
from hosts.web.charts.picture import Series
from hosts.web.charts.plot import Style, plot
from hosts.web.charts.shares import gauge, ring, rows

LATE: Final = "Some events of this range are still on their way: the numbers are a lower bound."
MOST_ROWS: Final = 10
"""Bars of a list that shares the page with other cards; its table has all."""

_STYLES: Final = frozenset({"line", "area", "bar"})
_FUNNEL_HEAD: Final = (
    "Step", "Count", "Of the first", "Of the one before", "Dropped", "Median time from the one before",
)  # fmt: skip


def report_card(run: Answer, chart: str | None, setting: Setting, size: str = "md") -> Card:
    """The card of a report that ran.

    Args:
        run: the answer of the run.
        chart: the chart style of a catalog report, if it has one.
        setting: of the workspace.
        size: of the card.
    """
    report, data = run["report"], run["data"]
    if "metric" in data and "series" in data:
        card = _metric_card(report["name"], data, chart or "number", setting)
    elif "steps" in data:
        card = _funnel_card(report["name"], data, setting)
    elif "columns" in data:
        card = query_card(report["name"], data, setting)
    else:
        card = breakdown_card(report["name"], data, setting)
    return _with(card, size, _notes(run, setting))


def _notes(run: Answer, setting: Setting) -> tuple[str, ...]:
    skipped = [setting.label(one["dimension"]) for one in run["filters_skipped"]]
    return (
        *([] if run["complete"] else [LATE]),
        *([f"Not filtered by {', '.join(skipped)}."] if skipped else []),
    )


def _with(card: Card, size: str, notes: Sequence[str]) -> Card:
    """The card in its size; a long list is cut where it would tower over its neighbours."""
    told = (*card.notes, *notes)
    if card.shape == "rows" and size != "lg" and len(card.figure) > MOST_ROWS:
        more = f"The picture shows the first {MOST_ROWS} of {len(card.figure)}."
        return replace(card, figure=card.figure[:MOST_ROWS], notes=(more, *told), size=size)
    return replace(card, notes=told, size=size)


def _metric_card(title: str, data: Answer, chart: str, setting: Setting) -> Card:
    metric, series = data["metric"], data["series"] or ()
    unit, label = setting.unit(metric["unit"]), setting.label(metric["id"])
    if not metric["available"]:
        reason = (metric["unavailable_reason"] or "not measured").replace("_", " ")
        return message(title, f"{label} is not available here: {reason}.")
    number = Number(label, unit.full(metric["value"]), metric["value"] is None)
    if chart == "pie" and metric["value"] is not None:
        return Card(title, "ring", _ring(label, metric["value"], setting, metric["unit"]))
    if not series:
        return Card(title, "numbers", (number,))
    starts = [instant(point["timestamp"]) for point in series]
    size = size_of(starts)
    buckets = [
        bucket_at(start, setting.zone, size, partial=point["partial"])
        for start, point in zip(starts, series, strict=True)
    ]
    table = Table(
        (size.capitalize(), label),
        tuple(
            (bucket.title, unit.full(point["value"])) for bucket, point in zip(buckets, series, strict=True)
        ),
    )
    if chart not in _STYLES:
        return Card(title, "table", table, (number,))
    line = Series(label, tuple(point["value"] for point in series))
    picture = plot(f"{label} by {size}", buckets, [line], unit=unit, style=cast(Style, chart))
    return Card(title, "plot", picture, (number,), table)


def _ring(label: str, value: float, setting: Setting, unit_name: str) -> Any:
    """A share fills its part of the ring; any other number is a whole of one part."""
    text = setting.unit(unit_name).full(value)
    if unit_name == "ratio":
        return gauge(f"{label}: {text}", text, label, value)
    return ring(f"{label}: {text}", text, [(label, max(value, 0.0), text)])


def breakdown_card(title: str, data: Answer, setting: Setting) -> Card:
    """The bar list of a grouping: what `/traffic`, `/devices` and `/locations` answer (contract 3.2)."""
    counted = setting.unit("count")
    parts = [
        (name_of(row["name"]), row["count"], counted.full(row["count"]), f"{row['percentage']:.1f} %")
        for row in data["data"]
    ]
    if not parts:
        return message(title, "Nothing was recorded in this range.")
    head = (setting.label(data["type"]), setting.label(data["metric"]), "Share")
    table = Table(head, tuple((name, text, share) for name, _, text, share in parts))
    return Card(title, "rows", rows(parts), table=table)


def _funnel_card(title: str, data: Answer, setting: Setting) -> Card:
    counted, rate, time = (setting.unit(name) for name in ("count", "ratio", "seconds"))
    entered = data["steps"][0]["count"] or 0
    steps = tuple(
        Step(
            number=step["step"],
            name=step["event_name"],
            count=counted.full(step["count"]),
            rate=rate.full(step["conversion_rate"]),
            lost=counted.full(step["dropped"]),
            width=round(100 * step["count"] / entered, 2) if entered else 0.0,
        )
        for step in data["steps"]
    )
    lines = tuple(
        (
            step["event_name"],
            counted.full(step["count"]),
            rate.full(step["conversion_rate"]),
            rate.full(step["step_conversion_rate"]),
            counted.full(step["dropped"]),
            time.full(step["median_seconds_from_previous"]),
        )
        for step in data["steps"]
    )
    whole = data["overall_conversion_rate"]
    shape: Shape = "steps"
    return Card(
        title,
        shape,
        steps,
        (Number("Conversion", rate.full(whole), whole is None),),
        Table(_FUNNEL_HEAD, lines),
    )
