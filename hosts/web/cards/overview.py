"""Cards of the overview."""

from typing import Final

from hosts.web.cards.card import Answer, Card, DisplayContext, Number, Table, parse_instant
from hosts.web.cards.reports import INCOMPLETE_NOTE
from hosts.web.charts.plot import build_plot
from hosts.web.charts.plot_model import Series
from hosts.web.charts.time_labels import build_labelled_bucket

_CHARTED_METRICS: Final = (("visitors", "Visitors"), ("pageviews", "Page views"))
_TOTAL_METRICS: Final = (*_CHARTED_METRICS, ("sessions", "Sessions"), ("custom_events", "Custom events"))


def build_overview_card(data: Answer, setting: DisplayContext) -> Card:
    """Totals, and visitors and page views over time.

    Args:
        data: the answer of `GET /overview`.
        setting: of the workspace.
    """
    size, unit = data["aggregation_level"], setting.format_for("count")
    points = data["time_series"]
    buckets = [
        build_labelled_bucket(parse_instant(point["timestamp"]), setting.zone, size, partial=point["partial"])
        for point in points
    ]
    lines = [Series(label, tuple(point[name] for point in points)) for name, label in _CHARTED_METRICS]
    rows = (
        (bucket.title, *(unit.format_in_full_or_dash(point[name]) for name, _ in _TOTAL_METRICS))
        for bucket, point in zip(buckets, points, strict=True)
    )
    return Card(
        title="Visitors and page views",
        shape="plot",
        figure=build_plot(f"Visitors and page views by {size}", buckets, lines, unit=unit, style="line"),
        numbers=tuple(
            Number(label, unit.format_in_full_or_dash(data[f"{name}_total"]))
            for name, label in _TOTAL_METRICS
        ),
        table=Table((size.capitalize(), *(label for _, label in _TOTAL_METRICS)), tuple(rows)),
        notes=() if data["complete"] else (INCOMPLETE_NOTE,),
        size="lg",
    )
