"""Request and response models of reports."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, field_validator

from service_core.analytics.funnels.operations import FunnelResponse, FunnelUnit
from service_core.analytics.funnels.ports import FunnelOrder
from service_core.analytics.query.schemas import Compare, FilterBody
from service_core.analytics.reads.breakdowns import CountBreakdown, LocationBreakdown
from service_core.analytics.reads.metric_values import MetricValue
from service_core.analytics.reads.query.response import QueryResponse
from service_core.analytics.reads.query.schemas import REQUEST_ONLY, SavedQuery
from service_core.changes.optimistic_locking import VersionedBody
from service_core.changes.pagination import ListQuery
from service_core.kernel.date_range import DateRange, RangeResponse
from service_core.kernel.errors import BadRequest, Unprocessable
from service_core.kernel.schemas import BodyModel, Clamp, ResponseModel
from service_core.workspace.reports.models import (
    Chart,
    Grouping,
    Report,
    ReportKind,
    ReportSource,
    SavedRange,
)

FUNNEL_FIELDS: Final = ("window_days", "order", "unit")
"""Optional fields of a funnel."""


def refuse_request_only_fields(saved_query: Any, field_path: str) -> Any:
    """Refuses fields of a saved query that belong to the request or to the credential.

    Raises:
        BadRequest: ``workspace_id_not_allowed``.
        Unprocessable: ``invalid_plan``.
    """
    names = saved_query if isinstance(saved_query, dict) else {}
    if "workspace_id" in names:
        raise BadRequest(
            "workspace_id is not allowed", "workspace_id_not_allowed", field=f"{field_path}.workspace_id"
        )
    for name in REQUEST_ONLY:
        if name in names:
            raise Unprocessable(
                f"A stored plan has no {name}",
                "invalid_plan",
                field=f"{field_path}.{name}",
                hint="The request that runs the plan says it.",
            )
    return saved_query


class Definition(BodyModel):
    """The fields of a report that say what it shows."""

    metric_id: str | None = Field(None, description="Of a catalog report: an id of the catalog.")
    chart: Chart | None = Field(None, description="Of a catalog report: how the metric is drawn.")
    dimension: Grouping | None = Field(None, description="Of a catalog report: in place of `chart`.")
    plan: SavedQuery | None = Field(
        None, description="Of a query report: a plan without range, comparison, cursor and format."
    )
    steps: list[str] | None = Field(None, description="Of a query report: a funnel, in place of `plan`.")
    window_days: Annotated[int, Clamp(1, 90)] | None = Field(None, description="Of a funnel; default 14.")
    order: FunnelOrder | None = Field(None, description="Of a funnel; default `ordered`.")
    unit: FunnelUnit | None = Field(None, description="Of a funnel; default `person`.")

    @field_validator("plan", mode="before")
    @classmethod
    def _refuse_request_fields(cls, sent: Any) -> Any:
        return refuse_request_only_fields(sent, "report.plan")


class NewReport(Definition):
    """A report to create."""

    name: str
    description: str | None = None
    kind: ReportKind | None = Field(None, description="Follows from the rest, and must agree with it.")
    source: ReportSource
    default_range: SavedRange | None = Field(None, description="Default the last 30 days.")
    expected_updated_at: AwareDatetime | None = Field(None, description="Ignored.")


class ReportPatch(Definition, VersionedBody):
    """Fields to change; null clears an optional one."""

    name: str | None = None
    description: str | None = None
    kind: ReportKind | None = Field(None, description="Follows from the rest, and must agree with it.")
    source: ReportSource | None = None
    default_range: SavedRange | None = None


class RunReport(BodyModel):
    """Body of `POST /reports/{reportId}/run`."""

    date_range: DateRange | None = Field(None, description="In place of the report's `default_range`.")
    filters: list[FilterBody] = Field(
        default=[], description="Beside those of a plan, at most 10; other reports skip them."
    )
    compare: Compare = Field(None, description="Of a plan or a chart: as in `/query`.")
    limit: int | None = Field(
        None,
        description="Rows of a plan, up to 1000, or of a grouping, up to 100. Without it "
        "a series by dimension has the `top` of its plan, or 5 groups.",
    )
    cursor: str | None = Field(None, description="Of a plan: `next_cursor` of the page before.")


class ReportsQuery(ListQuery):
    """Parameters of `GET /reports`."""

    kind: ReportKind | None = Field(None, description="Only reports of this kind.")


class ReportAnswer(Report):
    """A saved report."""

    deleted_at: None = Field(description="Null: a deleted report is not found.")


class ReportSummary(ResponseModel):
    """Fields of the report that a card shows."""

    id: UUID
    name: str
    kind: ReportKind
    source: ReportSource

    @classmethod
    def from_report(cls, report: Report) -> "ReportSummary":
        """Returns the summary of a report."""
        return cls(id=report.id, name=report.name, kind=report.kind, source=report.source)


SkipReason = Literal["catalog_report", "funnel_report", "dimension_not_accepted"]


class SkippedFilter(ResponseModel):
    """A filter a report runs without, and why."""

    dimension: str
    reason: SkipReason


class ChartPoint(ResponseModel):
    """One bucket of a chart."""

    timestamp: datetime
    date: str = Field(description="Local date of its start; of an hour with the time.")
    value: float | int | None
    partial: bool = Field(description="Cut by the range, or not over yet.")


class ChartData(ResponseModel):
    """A metric of the catalog: its value as `/metrics` gives it, and its course."""

    metric: MetricValue
    series: list[ChartPoint] | None = Field(description="Null for `number` and `pie`.")


RunData = ChartData | QueryResponse | FunnelResponse | CountBreakdown | LocationBreakdown
"""A chart; the answers of `/query`, `/funnel`, `/traffic` and `/devices`, `/locations`."""


class ReportRun(ResponseModel):
    """A report, run over a range."""

    report: ReportSummary
    range: RangeResponse
    data: RunData
    filters_skipped: list[SkippedFilter]
    complete: bool
