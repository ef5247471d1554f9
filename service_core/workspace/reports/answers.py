"""What is said of reports: the record, the few words a card needs, and a run."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from service_core.analytics.funnels.operations import FunnelResponse
from service_core.analytics.reads.breakdowns import Breakdown, CountRow, CountryRow, RegionOrCityRow
from service_core.analytics.reads.metric_values import MetricValue
from service_core.analytics.reads.query.response import QueryResponse
from service_core.kernel.date_range import RangeResponse
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.reports.models import Report, ReportKind, ReportSource


class ReportAnswer(Report):
    """A saved report."""

    deleted_at: None = Field(description="Null: a deleted report is not found.")


class ReportSummary(ResponseModel):
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


class SkippedFilter(ResponseModel):
    """A filter a report runs without, and why."""

    dimension: str
    reason: SkipReason


class ChartPoint(ResponseModel):
    """One bucket of a chart."""

    timestamp: datetime
    value: float | int | None
    partial: bool = Field(description="Cut by the range, or not over yet.")


class ChartData(ResponseModel):
    """A metric of the catalog: its value as `/metrics` gives it, and its course."""

    metric: MetricValue
    series: list[ChartPoint] | None = Field(description="Null for `number` and `pie`.")


RunData = (
    ChartData | QueryResponse | FunnelResponse | Breakdown[CountRow] | Breakdown[CountryRow | RegionOrCityRow]
)
"""A chart; the answers of `/query`, `/funnel`, `/traffic` and `/devices`, `/locations`."""


class ReportRun(ResponseModel):
    """A report, run over a range."""

    report: ReportSummary
    range: RangeResponse
    data: RunData
    filters_skipped: list[SkippedFilter]
    complete: bool
