"""Annotations on the charts of cards: numbered marks, and the list that explains them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from hosts.web.cards.card import Answer, Card, ChartAnnotation
from hosts.web.charts.plot_model import AnnotationMark, Plot
from hosts.web.local_dates import format_local_date, format_local_time

MAX_LISTED: Final = 20
"""Annotations that one chart lists."""


@dataclass(frozen=True, slots=True)
class LoadedAnnotations:
    """The annotations of a range.

    Attributes:
        records: as the API answers them.
        problem: why they could not be read; empty if they were.
    """

    records: Sequence[Answer] = ()
    problem: str = ""


def mark_annotations(card: Card, loaded: LoadedAnnotations, zone: ZoneInfo) -> Card:
    """Returns a card whose chart over time marks the annotations within its buckets; other cards stay as they are."""
    plot = card.figure
    if not isinstance(plot, Plot) or not plot.buckets:
        return card
    if loaded.problem:
        return replace(card, notes=(*card.notes, f"Annotations are not available: {loaded.problem}"))
    placed = sorted(
        ((instant, x, record) for instant, x, record in _placed_records(plot, loaded.records, zone)),
        key=lambda one: (one[0], one[2]["id"]),
    )
    number_by_x = {x: number for number, x in enumerate(dict.fromkeys(x for _, x, _ in placed), 1)}
    lines = tuple(
        ChartAnnotation(
            number_by_x[x],
            (format_local_time if record["time"] is not None else format_local_date)(instant, zone),
            record["text"],
            record["visibility"] == "private",
            record["id"],
        )
        for instant, x, record in placed
    )
    marks = tuple(AnnotationMark(x, number) for x, number in number_by_x.items())
    more = (f"{len(lines) - MAX_LISTED} more annotations are not listed.",) if len(lines) > MAX_LISTED else ()
    return replace(
        card,
        figure=replace(plot, annotations=marks),
        annotations=lines[:MAX_LISTED],
        notes=(*card.notes, *more),
    )


def annotation_instant(record: Answer, zone: ZoneInfo) -> datetime:
    """Returns when an annotation happened; the beginning of its day if it has no time."""
    return datetime.fromisoformat(f"{record['date']}T{record['time'] or '00:00'}").replace(tzinfo=zone)


def _placed_records(
    plot: Plot, records: Sequence[Answer], zone: ZoneInfo
) -> list[tuple[datetime, float, Answer]]:
    """Returns the annotations that lie within a bucket: instant, place of the bucket, and record."""
    placed = []
    for record in records:
        instant = annotation_instant(record, zone)
        x = next((one.x for one in plot.buckets if one.start <= instant < one.end), None)
        if x is not None:
            placed.append((instant, x, record))
    return placed
