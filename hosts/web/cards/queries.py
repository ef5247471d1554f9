"""Cards of questions: what `POST /query` answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from hosts.web.cards.card import (
    Answer,
    Card,
    DisplayContext,
    Number,
    Table,
    message_card,
    parse_instant,
)
from hosts.web.charts.plot import Style, build_plot
from hosts.web.charts.plot_model import Bucket, Series
from hosts.web.charts.proportion_charts import Row, build_bars_relative_to_longest
from hosts.web.charts.time_labels import build_labelled_bucket
from hosts.web.value_labels import label_dimension_value
from service_core.analytics.query.models import OTHER_GROUP_LABEL
from service_core.kernel.bucket_series import buckets_covering
from service_core.kernel.time_ranges import BucketUnit, TimeRange
from service_core.kernel.timestamps import format_timestamp

MAX_LINES: Final = 5
"""Lines of one plot besides that of the rest; the table names all."""

_BUCKET: Final = "bucket"
_BUCKET_DETAILS: Final = ("date", "partial")
"""Columns beside a bucket that a table shows as the bucket itself."""

_MILLISECOND: Final = timedelta(milliseconds=1)
_ADDITIVE_UNITS: Final = frozenset({"count", "currency"})
"""Units whose parts make up a whole, as far as a picture tells: their rows have shares and zeros."""


def build_query_card_by_columns(
    title: str, data: Answer, setting: DisplayContext, style: Style | None = None
) -> Card:
    """The card of a question: lines over time, a bar list of one dimension, numbers, or a table.

    Args:
        title: of the card.
        data: the answer.
        setting: of the workspace.
        style: of series over time; None for an area of one series and lines of several.
    """
    answer = QueryAnswer(title, data, setting)
    if not data["rows"] and (answer.bucketed or answer.dimensions):
        return message_card(title, "No data in this range.")
    if answer.bucketed:
        return _plot_card_of_top_series(answer, style)
    if not answer.dimensions:
        return Card(title, "numbers", answer.formatted_totals(), notes=answer.notes_on_missing_data())
    if len(answer.dimensions) == 1:
        return Card(
            title,
            "rows",
            bar_list_rows_with_shares(answer),
            table=answer.formatted_rows_table(),
            notes=answer.notes_on_missing_data(),
        )
    return build_table_card(title, data, setting)


def build_table_card(title: str, data: Answer, setting: DisplayContext) -> Card:
    """The rows of a question as a table, below its totals.

    Args:
        title: of the card.
        data: the answer.
        setting: of the workspace.
    """
    answer = QueryAnswer(title, data, setting)
    if not data["rows"]:
        return message_card(title, "No data in this range.")
    return Card(
        title,
        "table",
        answer.formatted_rows_table(),
        answer.formatted_totals(),
        notes=answer.notes_on_missing_data(),
    )


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """An answer of `POST /query` and what is needed to read it."""

    title: str
    data: Answer
    setting: DisplayContext

    @property
    def metrics(self) -> list[Answer]:
        """The columns of metrics."""
        return [column for column in self.data["columns"] if column["kind"] == "metric"]

    @property
    def dimensions(self) -> list[str]:
        """Ids of the dimensions."""
        return [column["id"] for column in self.data["columns"] if column["kind"] == "dimension"]

    @property
    def bucketed(self) -> bool:
        """Whether the rows are by time."""
        return any(column["kind"] == _BUCKET for column in self.data["columns"])

    @property
    def size(self) -> str:
        """The bucket size."""
        size: str = self.data["meta"]["resolved"]["interval"]
        return size

    def bucket_starts_up_to_data(self) -> list[str]:
        """The starts of all buckets, also of those no row was listed for; none is shown ahead of the data."""
        meta = self.data["meta"]
        covered = meta["resolved"]["date_range"]
        span = TimeRange(parse_instant(covered["from"]), parse_instant(covered["to"]) + _MILLISECOND)
        through = max(
            parse_instant(meta["data_through"]), *(parse_instant(row[_BUCKET]) for row in self.data["rows"])
        )
        buckets = buckets_covering(span, BucketUnit(self.size), self.setting.zone)
        return [format_timestamp(start) for start in buckets.starts if start <= through]

    def formatted_totals(self) -> tuple[Number, ...]:
        """The metrics over the whole range."""
        metric_totals = [(metric, self.data["totals"].get(metric["id"])) for metric in self.metrics]
        return tuple(
            Number(
                self.setting.label(metric["id"]),
                self.setting.format_for(metric["unit"], metric["id"]).format_in_full_or_dash(value),
                value is None,
            )
            for metric, value in metric_totals
        )

    def notes_on_missing_data(self, *, with_truncation: bool = True) -> tuple[str, ...]:
        """What is missing.

        Args:
            with_truncation: whether rows after the last one count.
        """
        missing = [
            self.setting.label(unavailable["metric"])
            for unavailable in self.data["meta"]["unavailable"]
            if "platform" not in unavailable
        ]
        unknown_spend = sorted(
            {item["platform"] for item in self.data["meta"]["unavailable"] if "platform" in item}
        )
        return (
            *([f"Not available here: {', '.join(missing)}."] if missing else []),
            *(f"Without {platform}, whose ad spend is unknown." for platform in unknown_spend),
            *(["More rows are not shown."] if with_truncation and self.data["meta"]["truncated"] else []),
        )

    def notes_on_kept_groups(self) -> list[str]:
        """Which groups the answer was asked to keep, where the rest is no line."""
        top = self.data["meta"]["resolved"].get("top")
        return [f"The largest {top['limit']} at most."] if top and not top["other"] else []

    def formatted_rows_table(self) -> Table:
        """Every row in words."""
        columns = [column for column in self.data["columns"] if column["id"] not in _BUCKET_DETAILS]
        head = (
            self.size.capitalize() if column["kind"] == _BUCKET else self.setting.label(column["id"])
            for column in columns
        )
        lines = (
            tuple(self._format_cell(row[column["id"]], column) for column in columns)
            for row in self.data["rows"]
        )
        return Table(tuple(head), tuple(lines), sum(column["kind"] != "metric" for column in columns))

    def _format_cell(self, value: Any, column: Answer) -> str:
        if column["kind"] == "metric":
            return self.setting.format_for(column["unit"], column["id"]).format_in_full_or_dash(value)
        if column["kind"] == _BUCKET:
            return build_labelled_bucket(parse_instant(value), self.setting.zone, self.size).title
        return label_dimension_value(column["id"], value)


def _plot_card_of_top_series(answer: QueryAnswer, style: Style | None) -> Card:
    starts = answer.bucket_starts_up_to_data()
    named, rest = (
        _series_by_dimension_largest_first_and_rest(answer, starts)
        if answer.dimensions
        else (_series_of_metrics_sharing_first_unit(answer, starts), [])
    )
    drawn = [*named[:MAX_LINES], *rest]
    picture = build_plot(
        f"{answer.title}, by {answer.size}",
        label_buckets_marking_last_partial(answer, starts),
        drawn,
        unit=answer.setting.format_for(answer.metrics[0]["unit"], answer.metrics[0]["id"]),
        style=style or ("area" if len(named) + len(rest) == 1 else "line"),
    )
    more = [f"Top {MAX_LINES} of {len(named)}."] if len(named) > MAX_LINES else answer.notes_on_kept_groups()
    return Card(
        answer.title,
        "plot",
        picture,
        answer.formatted_totals(),
        answer.formatted_rows_table(),
        (*more, *answer.notes_on_missing_data()),
    )


def label_buckets_marking_last_partial(answer: QueryAnswer, starts: Sequence[str]) -> list[Bucket]:
    """The x axis; the last bucket is not over while the range is not."""
    lasting = answer.data["meta"]["resolved"]["date_range"]["partial"]
    zone, last = answer.setting.zone, starts[-1]
    return [
        build_labelled_bucket(parse_instant(start), zone, answer.size, partial=lasting and start == last)
        for start in starts
    ]


def _series_of_metrics_sharing_first_unit(answer: QueryAnswer, starts: Sequence[str]) -> list[Series]:
    """A line per metric that shares the first one's unit: two units have no axis in common."""
    alike = [metric for metric in answer.metrics if metric["unit"] == answer.metrics[0]["unit"]]
    row_by_bucket = {row[_BUCKET]: row for row in answer.data["rows"]}
    return [
        Series(
            answer.setting.label(metric["id"]),
            tuple(row_by_bucket.get(start, {}).get(metric["id"]) for start in starts),
        )
        for metric in alike
    ]


def _series_by_dimension_largest_first_and_rest(
    answer: QueryAnswer, starts: Sequence[str]
) -> tuple[list[Series], list[Series]]:
    """A line per combination of names, the largest first, and that of all others if the answer has one.

    A name without a row in a bucket had nothing to count there, unless rows were left out.
    """
    metric, value_by_bucket = answer.metrics[0], dict[tuple[Any, ...], dict[str, float | None]]()
    for row in answer.data["rows"]:
        values = tuple(row[dimension] for dimension in answer.dimensions)
        value_by_bucket.setdefault(values, {})[row[_BUCKET]] = row[metric["id"]]
    nothing = 0 if metric["unit"] in _ADDITIVE_UNITS and not answer.data["meta"]["truncated"] else None
    rest = value_by_bucket.pop((OTHER_GROUP_LABEL,), None)
    largest = sorted(value_by_bucket.items(), key=lambda item: -sum(value or 0 for value in item[1].values()))

    def build_series(values: tuple[Any, ...], counted: dict[str, float | None]) -> Series:
        names = zip(answer.dimensions, values, strict=True)
        return Series(
            " · ".join(label_dimension_value(dimension, value) for dimension, value in names),
            tuple(counted.get(start, nothing) for start in starts),
        )

    return (
        [build_series(values, counted) for values, counted in largest],
        [] if rest is None else [build_series((OTHER_GROUP_LABEL,), rest)],
    )


def bar_list_rows_with_shares(answer: QueryAnswer) -> tuple[Row, ...]:
    """The rows of one dimension as bars; counts and amounts with their share of the total."""
    metric, (dimension,) = answer.metrics[0], answer.dimensions
    unit, total = (
        answer.setting.format_for(metric["unit"], metric["id"]),
        answer.data["totals"].get(metric["id"]),
    )
    parts = []
    for row in answer.data["rows"]:
        value = row[metric["id"]]
        share = (
            f"{100 * value / total:.1f} %" if metric["unit"] in _ADDITIVE_UNITS and value and total else ""
        )
        parts.append(
            (
                label_dimension_value(dimension, row[dimension]),
                value,
                unit.format_in_full_or_dash(value),
                share,
            )
        )
    return build_bars_relative_to_longest(parts)
