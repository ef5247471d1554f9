"""The chart of one metric over time, with the line of the period it is compared with."""

from hosts.web.cards.card import Answer, Card, DisplayContext, Table, message_card, parse_instant
from hosts.web.cards.queries import QueryAnswer, label_buckets_marking_last_partial
from hosts.web.charts.plot import build_plot
from hosts.web.charts.plot_model import Series
from hosts.web.charts.time_labels import build_labelled_bucket


def build_trend_card(metric: str, data: Answer, setting: DisplayContext) -> Card:
    """The card of a metric over time.

    Args:
        metric: its id.
        data: an answer of `POST /query` with an interval and no dimensions.
        setting: of the workspace.
    """
    title = setting.label(metric)
    answer = QueryAnswer(title, data, setting)
    if not data["rows"]:
        return message_card(title, "No data in this range.", "lg")
    starts = answer.bucket_starts_up_to_data()
    buckets = label_buckets_marking_last_partial(answer, starts)
    row_by_bucket = {row["bucket"]: row for row in data["rows"]}
    current = Series("This period", tuple(row_by_bucket.get(start, {}).get(metric) for start in starts))
    compared = _compared_series(metric, answer, starts)
    unit = setting.format_for(next(one["unit"] for one in answer.metrics if one["id"] == metric), metric)
    head = (answer.size.capitalize(), title, *(["Compared with"] if compared else []))
    rows = tuple(
        (
            bucket.title,
            unit.format_in_full_or_dash(value),
            *(
                [f"{unit.format_in_full_or_dash(compared.values[index])} ({compared.titles[index]})"]
                if compared
                else []
            ),
        )
        for index, (bucket, value) in enumerate(zip(buckets, current.values, strict=True))
    )
    return Card(
        title,
        "plot",
        build_plot(
            f"{title} by {answer.size}",
            buckets,
            [current, *([compared] if compared else [])],
            unit=unit,
            style="area",
        ),
        table=Table(head, rows),
        size="lg",
    )


def _compared_series(metric: str, answer: QueryAnswer, starts: list[str]) -> Series | None:
    """The line of the comparison, each value in the place of the bucket it is compared with."""
    comparison = answer.data["comparison"]
    if comparison is None or not comparison["rows"]:
        return None
    row_by_aligned_bucket = {row["aligned_bucket"]: row for row in comparison["rows"]}
    rows = [row_by_aligned_bucket.get(start) for start in starts]
    return Series(
        "Comparison",
        tuple(row and row[metric] for row in rows),
        tuple(
            build_labelled_bucket(parse_instant(row["bucket"]), answer.setting.zone, answer.size).title
            if row
            else "No day to compare"
            for row in rows
        ),
    )
