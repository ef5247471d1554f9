"""Cohorts by elapsed period as a heat table: a number and a level of colour in each cell, and a curve."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from hosts.web.breakdown_choice import label_group
from hosts.web.charts.number_format import ValueFormat
from hosts.web.charts.plot import build_plot
from hosts.web.charts.plot_model import Bucket, Plot, Series

HEAT_LEVELS: Final = 10
PERIOD_NAMES: Final[Mapping[str, str]] = {"day": "Day", "week": "Week", "month": "Month"}

Row = Mapping[str, Any]
"""A row of `GET /retention` or `GET /ltv`."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A cell of the table.

    Attributes:
        text: the value in words.
        detail: what it is computed from, in words.
        level: of colour, 0 to `HEAT_LEVELS`.
        is_partial: the period is not over.
    """

    text: str
    detail: str
    level: int
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class CohortLine:
    """A cohort; periods that have not begun are None."""

    label: str
    size: str
    cells: tuple[HeatCell | None, ...]


@dataclass(frozen=True, slots=True)
class CohortTable:
    """The table, from the first cohort to the last, and the line below it that pools them."""

    heads: tuple[str, ...]
    lines: tuple[CohortLine, ...]
    pooled: tuple[HeatCell | None, ...]
    has_partial: bool


def build_cohort_table(
    rows: Sequence[Row],
    granularity: str,
    cell_of: Callable[[Row], HeatCell],
    pooled_by_period: Mapping[int, HeatCell],
) -> CohortTable:
    """The table of an answer.

    Args:
        rows: of the answer, ordered by cohort.
        granularity: size of the cohorts: ``day``, ``week`` or ``month``.
        cell_of: returns the cell of a row.
        pooled_by_period: the cells of the last line.
    """
    periods = range(max(row["period"] for row in rows) + 1)
    cohorts: dict[str, list[Row]] = {}
    for row in rows:
        cohorts.setdefault(row["cohort_start"], []).append(row)
    return CohortTable(
        heads=tuple(f"{PERIOD_NAMES[granularity]} {period}" for period in periods),
        lines=tuple(
            _build_line(start, some, granularity, cell_of, periods) for start, some in cohorts.items()
        ),
        pooled=tuple(pooled_by_period.get(period) for period in periods),
        has_partial=any(row["partial"] for row in rows),
    )


def _build_line(
    start: str, rows: Sequence[Row], granularity: str, cell_of: Callable[[Row], HeatCell], periods: range
) -> CohortLine:
    cells = {row["period"]: cell_of(row) for row in rows}
    return CohortLine(
        label=format_cohort_start(start, granularity),
        size=ValueFormat().format_in_full_or_dash(rows[0]["cohort_size"]),
        cells=tuple(cells.get(period) for period in periods),
    )


def build_group_table(
    answer: Mapping[str, Any],
    unit: ValueFormat,
    overall: Mapping[int, float | None],
    values_of: Callable[[Mapping[str, Any]], Mapping[int, float | None]],
) -> CohortTable | None:
    """The groups of a breakdown as lines, pooled over their cohorts; None without a breakdown.

    Args:
        answer: of `GET /retention` or `GET /ltv`.
        unit: of the values.
        overall: the values of all groups together by period, for the last line.
        values_of: returns the values of a group by period.
    """
    if answer["breakdown"] is None:
        return None
    groups = [(group, values_of(group)) for group in answer["groups"]]
    periods = range(max(overall, default=-1) + 1)
    listed = [value for _, values in groups for period, value in values.items() if period and value]
    highest = max(listed, default=0.0)

    def cells(values: Mapping[int, float | None]) -> tuple[HeatCell | None, ...]:
        return tuple(
            HeatCell(unit.format_in_full_or_dash(values[period]), "", heat_level(values[period], highest))
            if period in values
            else None
            for period in periods
        )

    return CohortTable(
        heads=tuple(f"{PERIOD_NAMES[answer['granularity']]} {period}" for period in periods),
        lines=tuple(
            CohortLine(
                label_group(answer["breakdown"], group),
                ValueFormat().format_in_full_or_dash(group["persons"]),
                cells(values),
            )
            for group, values in groups
        ),
        pooled=cells(overall),
        has_partial=False,
    )


def format_cohort_start(text: str, granularity: str) -> str:
    """The first day of a cohort in words; of months the month."""
    start = date.fromisoformat(text)
    return f"{start:%B %Y}" if granularity == "month" else f"{start.day} {start:%b %Y}"


def heat_level(value: float | None, highest: float) -> int:
    """The level of colour of a value between zero and the highest one."""
    if not value or highest <= 0:
        return 0
    return max(0, min(HEAT_LEVELS, round(value / highest * HEAT_LEVELS)))


def build_period_curve(
    label: str, granularity: str, values: Mapping[int, float | None], unit: ValueFormat
) -> Plot | None:
    """The values by elapsed period as a line; None if there are fewer than two."""
    if len(values) <= 1:
        return None
    name = PERIOD_NAMES[granularity]
    buckets = [Bucket(f"{name[0]}{period}", f"{name} {period}") for period in sorted(values)]
    line = Series(label, tuple(values[period] for period in sorted(values)))
    return build_plot(label, buckets, [line], unit=unit, style="line")
