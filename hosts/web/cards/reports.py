"""Cards of saved reports: what `POST /reports/{reportId}/run` answers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, cast

from hosts.web.cards.card import (
    Answer,
    Card,
    DisplayContext,
    Number,
    Shape,
    Step,
    Table,
    dimension_label,
    message_card,
    parse_instant,
)
from hosts.web.cards.queries import build_query_card_by_columns
from hosts.web.charts.number_format import ValueFormat
from hosts.web.charts.plot import Style, build_plot
from hosts.web.charts.plot_model import Series
from hosts.web.charts.proportion_charts import (
    build_bars_relative_to_longest,
    build_gauge,
    build_ring_of_first_six_parts,
)
from hosts.web.charts.time_labels import build_labelled_bucket, detect_bucket_size
from hosts.web.value_labels import label_event_name

INCOMPLETE_NOTE: Final = "Some events of this range are not stored yet, so the numbers are a lower bound."
MAX_ROWS: Final = 10
"""Bars of a list that shares the page with other cards; its table has all."""

_STYLES: Final = frozenset({"line", "area", "bar"})
_FUNNEL_HEAD: Final = (
    "Step", "Count", "Of step 1", "Of previous step", "Dropped off", "Median time from previous step",
)  # fmt: skip


def build_report_card_by_answer_fields(
    run: Answer, chart: str | None, setting: DisplayContext, size: str = "md"
) -> Card:
    """The card of a report that ran.

    Args:
        run: the answer of the run.
        chart: the chart style of a catalog report, if it has one.
        setting: of the workspace.
        size: of the card.
    """
    report, data = run["report"], run["data"]
    if "metric" in data and "series" in data:
        card = _metric_card_by_chart_type(report["name"], data, chart or "number", setting)
    elif "steps" in data:
        card = build_funnel_card(report["name"], data, setting)
    elif "columns" in data:
        card = build_query_card_by_columns(report["name"], data, setting)
    else:
        card = build_breakdown_card(report["name"], data, setting)
    return _resize_card_and_cut_long_list(
        card, size, _notes_on_incomplete_data_and_skipped_filters(run, setting)
    )


def _notes_on_incomplete_data_and_skipped_filters(run: Answer, setting: DisplayContext) -> tuple[str, ...]:
    skipped = [setting.label(skipped_filter["dimension"]) for skipped_filter in run["filters_skipped"]]
    return (
        *([] if run["complete"] else [INCOMPLETE_NOTE]),
        *([f"Not filtered by {', '.join(skipped)}."] if skipped else []),
    )


def _resize_card_and_cut_long_list(card: Card, size: str, notes: Sequence[str]) -> Card:
    """The card in its size; a list longer than `MAX_ROWS` is cut unless the card is large."""
    all_notes = (*card.notes, *notes)
    if card.shape == "rows" and size != "lg" and len(card.figure) > MAX_ROWS:
        more = f"Top {MAX_ROWS} of {len(card.figure)}."
        return replace(card, figure=card.figure[:MAX_ROWS], notes=(more, *all_notes), size=size)
    return replace(card, notes=all_notes, size=size)


def _metric_card_by_chart_type(title: str, data: Answer, chart: str, setting: DisplayContext) -> Card:
    metric, series = data["metric"], data["series"] or ()
    unit, label = setting.format_for(metric["unit"], metric["id"]), setting.label(metric["id"])
    if not metric["available"]:
        reason = (metric["unavailable_reason"] or "not measured").replace("_", " ")
        return message_card(title, f"{label} is not available here: {reason}.")
    number = Number(label, unit.format_in_full_or_dash(metric["value"]), metric["value"] is None)
    if chart == "pie" and metric["value"] is not None:
        return Card(title, "ring", _gauge_for_ratio_else_full_ring(label, metric["value"], unit))
    if not series:
        return Card(title, "numbers", (number,))
    starts = [parse_instant(point["timestamp"]) for point in series]
    size = detect_bucket_size(starts)
    buckets = [
        build_labelled_bucket(start, setting.zone, size, partial=point["partial"])
        for start, point in zip(starts, series, strict=True)
    ]
    table = Table(
        (size.capitalize(), label),
        tuple(
            (bucket.title, unit.format_in_full_or_dash(point["value"]))
            for bucket, point in zip(buckets, series, strict=True)
        ),
    )
    if chart not in _STYLES:
        return Card(title, "table", table, (number,))
    line = Series(label, tuple(point["value"] for point in series))
    picture = build_plot(f"{label} by {size}", buckets, [line], unit=unit, style=cast(Style, chart))
    return Card(title, "plot", picture, (number,), table)


def _gauge_for_ratio_else_full_ring(label: str, value: float, unit: ValueFormat) -> Any:
    """A share fills its part of the ring; any other number is a whole of one part."""
    text = unit.format_in_full_or_dash(value)
    if unit.name == "ratio":
        return build_gauge(f"{label}: {text}", text, label, value)
    return build_ring_of_first_six_parts(f"{label}: {text}", text, [(label, max(value, 0.0), text)])


def build_breakdown_card(title: str, data: Answer, setting: DisplayContext) -> Card:
    """The bar list of a grouping: what `/traffic`, `/devices` and `/locations` answer."""
    counted = setting.format_for("count")
    parts = [
        (
            dimension_label(row["name"]),
            row["count"],
            counted.format_in_full_or_dash(row["count"]),
            f"{row['percentage']:.1f} %",
        )
        for row in data["data"]
    ]
    if not parts:
        return message_card(title, "No data in this range.")
    head = (setting.label(data["type"]), setting.label(data["metric"]), "Share")
    table = Table(head, tuple((name, text, share) for name, _, text, share in parts))
    return Card(title, "rows", build_bars_relative_to_longest(parts), table=table)


def build_funnel_card(title: str, data: Answer, setting: DisplayContext) -> Card:
    """The card of an answer of `GET /funnel`."""
    counted, rate, time = (setting.format_for(name) for name in ("count", "ratio", "seconds"))
    entered = data["steps"][0]["count"] or 0
    steps = tuple(
        Step(
            number=step["step"],
            name=label_event_name(step["event_name"]),
            count=counted.format_in_full_or_dash(step["count"]),
            rate=rate.format_in_full_or_dash(step["conversion_rate"]),
            dropped=counted.format_in_full_or_dash(step["dropped"]),
            width=round(100 * step["count"] / entered, 2) if entered else 0.0,
        )
        for step in data["steps"]
    )
    lines = tuple(
        (
            label_event_name(step["event_name"]),
            counted.format_in_full_or_dash(step["count"]),
            rate.format_in_full_or_dash(step["conversion_rate"]),
            rate.format_in_full_or_dash(step["step_conversion_rate"]),
            counted.format_in_full_or_dash(step["dropped"]),
            time.format_in_full_or_dash(step["median_seconds_from_previous"]),
        )
        for step in data["steps"]
    )
    whole = data["overall_conversion_rate"]
    shape: Shape = "steps"
    return Card(
        title,
        shape,
        steps,
        (Number("Conversion", rate.format_in_full_or_dash(whole), whole is None),),
        Table(_FUNNEL_HEAD, lines),
    )
