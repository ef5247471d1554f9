"""What is said of reports: the record, the few words a card needs, and a run."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from service_core.insight.breakdowns import Breakdown, CountRow, CountryRow, PlaceRow
from service_core.insight.funnels.operations import Funnel
from service_core.insight.metric_values import MetricValue
from service_core.insight.query_answer import QueryAnswer
from service_core.kernel.date_range import RangeAnswer
from service_core.kernel.params import Answer
from service_core.workspace.reports.model import Report, ReportKind, ReportSource


class ReportAnswer(Report):
    """A saved report."""

    deleted_at: None = Field(description="Null: a deleted report is not found.")


class ReportSummary(Answer):
    """What a card says of its report."""

    id: UUID
    name: str
    kind: ReportKind
    source: ReportSource

    @classmethod
    def of(cls, report: Report) -> "ReportSummary":
        """The summary of a report."""
        return cls(id=report.id, name=report.name, kind=report.kind, source=report.source)


SkipReason = Literal["catalog_report", "funnel_report", "dimension_not_accepted"]


class SkippedFilter(Answer):
    """A filter a report runs without, and why."""

    dimension: str
    reason: SkipReason


class ChartPoint(Answer):
    """One bucket of a chart."""

    timestamp: datetime
    value: float | int | None
    partial: bool = Field(description="Cut by the range, or not over yet.")


class ChartData(Answer):
    """A metric of the catalog: its value as `/metrics` gives it, and its course."""

    metric: MetricValue
    series: list[ChartPoint] | None = Field(description="Null for `number` and `pie`.")


RunData = ChartData | QueryAnswer | Funnel | Breakdown[CountRow] | Breakdown[CountryRow | PlaceRow]
"""A chart; the answers of `/query`, `/funnel`, `/traffic` and `/devices`, `/locations`."""


class ReportRun(Answer):
    """A report, run over a range."""

    report: ReportSummary
    range: RangeAnswer
    data: RunData
    filters_skipped: list[SkippedFilter]
    complete: bool
