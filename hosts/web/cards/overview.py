"""Cards of the overview (contract 3.1)."""

from typing import Final

from hosts.web.cards.card import Answer, Card, Number, Setting, Table, instant
from hosts.web.cards.reports import LATE
from hosts.web.charts.days import bucket_at
from hosts.web.charts.picture import Series
from hosts.web.charts.plot import plot

_DRAWN: Final = (("visitors", "Visitors"), ("pageviews", "Page views"))
_COUNTED: Final = (*_DRAWN, ("sessions", "Sessions"), ("custom_events", "Custom events"))


def overview_card(data: Answer, setting: Setting) -> Card:
    """Totals, and visitors and page views over time.

    Args:
        data: the answer of `GET /overview`.
        setting: of the workspace.
    """
    size, unit = data["aggregation_level"], setting.unit("count")
    points = data["time_series"]
    buckets = [
        bucket_at(instant(point["timestamp"]), setting.zone, size, partial=point["partial"])
        for point in points
    ]
    lines = [Series(label, tuple(point[name] for point in points)) for name, label in _DRAWN]
    rows = (
        (bucket.title, *(unit.full(point[name]) for name, _ in _COUNTED))
        for bucket, point in zip(buckets, points, strict=True)
    )
    return Card(
        title="Visitors and page views",
        shape="plot",
        figure=plot(f"Visitors and page views by {size}", buckets, lines, unit=unit, style="line"),
        numbers=tuple(Number(label, unit.full(data[f"{name}_total"])) for name, label in _COUNTED),
        table=Table((size.capitalize(), *(label for _, label in _COUNTED)), tuple(rows)),
        notes=() if data["complete"] else (LATE,),
        size="lg",
    )
