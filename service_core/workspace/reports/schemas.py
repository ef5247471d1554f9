"""What requests say of a report."""

from typing import Annotated, Any, Final

from pydantic import AwareDatetime, Field, field_validator

from service_core.analytics.funnels.operations import FunnelUnit
from service_core.analytics.funnels.ports import FunnelOrder
from service_core.analytics.query.schemas import Compare, FilterBody
from service_core.analytics.reads.query.schemas import REQUEST_ONLY, SavedQuery
from service_core.changes.operations import DryRunBody
from service_core.kernel.date_range import DateRange
from service_core.kernel.errors import BadRequest, Unprocessable
from service_core.kernel.schemas import BodyModel, Clamp
from service_core.workspace.reports.models import Chart, Grouping, ReportKind, ReportSource, SavedRange
from service_core.workspace.validation import VersionedBody

FUNNEL_FIELDS: Final = ("window_days", "order", "unit")
"""Fields that say how the steps of a funnel follow each other."""


def refuse_request_fields(sent: Any, field: str) -> Any:
    """Refuse in a stored plan what belongs to whoever runs it, or to the key.

    Raises:
        BadRequest: ``workspace_id_not_allowed``.
        Unprocessable: ``invalid_plan``.
    """
    names = sent if isinstance(sent, dict) else {}
    if "workspace_id" in names:
        raise BadRequest(
            "workspace_id is not allowed", "workspace_id_not_allowed", field=f"{field}.workspace_id"
        )
    for name in REQUEST_ONLY:
        if name in names:
            raise Unprocessable(
                f"A stored plan has no {name}",
                "invalid_plan",
                field=f"{field}.{name}",
                hint="Whoever runs the plan says it.",
            )
    return sent


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
        return refuse_request_fields(sent, "report.plan")


class NewReport(Definition):
    """A report to make."""

    name: str
    description: str | None = None
    kind: ReportKind | None = Field(None, description="Follows from the rest, and must agree with it.")
    source: ReportSource
    default_range: SavedRange | None = Field(None, description="Default the last 30 days.")
    expected_updated_at: AwareDatetime | None = Field(None, description="Ignored.")


class CreateReport(DryRunBody):
    """Body of `POST /reports`."""

    report: NewReport


class ReportPatch(Definition, VersionedBody):
    """Fields to change; null clears an optional one."""

    name: str | None = None
    description: str | None = None
    kind: ReportKind | None = Field(None, description="Follows from the rest, and must agree with it.")
    source: ReportSource | None = None
    default_range: SavedRange | None = None


class UpdateReport(DryRunBody):
    """Body of `PATCH /reports/{reportId}`."""

    report: ReportPatch


class RunReport(BodyModel):
    """Body of `POST /reports/{reportId}/run`."""

    date_range: DateRange | None = Field(None, description="In place of the report's `default_range`.")
    filters: list[FilterBody] = Field(
        default=[], description="Beside those of a plan, at most 10; other reports skip them."
    )
    compare: Compare = Field(None, description="Of a plan or a chart: as in `/query`.")
    limit: int | None = Field(None, description="Rows of a plan, up to 1000, or of a grouping, up to 100.")
    cursor: str | None = Field(None, description="Of a plan: `next_cursor` of the page before.")
