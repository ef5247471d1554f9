"""Request and response models of dashboards."""

from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, Field

from service_core.analytics.query.schemas import FilterBody
from service_core.changes.optimistic_locking import VersionedBody
from service_core.changes.schemas import DryRunBody
from service_core.kernel.date_range import DateRange
from service_core.kernel.schemas import BodyModel, Clamp, ResponseModel
from service_core.workspace.dashboards.models import LAYOUT_VERSION, CardSize, Dashboard
from service_core.workspace.reports.models import SavedRange
from service_core.workspace.reports.schemas import ReportSummary


class NewCard(BodyModel):
    """A card; without a size it gets that of its kind of report."""

    report_id: UUID
    size: CardSize | None = None


class NewLayout(BodyModel):
    """Cards in their order, at most 24."""

    v: int = LAYOUT_VERSION
    cards: list[NewCard] = Field(default=[])


class DashboardFields(BodyModel):
    """Optional fields of a dashboard."""

    date_range: SavedRange | None = Field(None, description="Default the last 30 days.")
    filters: list[FilterBody] | None = Field(None, description="At most 10, each `eq`.")
    layout: NewLayout | None = None


class NewDashboard(DashboardFields):
    """A dashboard to create."""

    name: str
    expected_updated_at: AwareDatetime | None = Field(None, description="Ignored.")


class DashboardPatch(DashboardFields, VersionedBody):
    """Fields to change; null brings the default back."""

    name: str | None = None


class ReorderDashboard(VersionedBody, DryRunBody):
    """Body of `POST /dashboards/{dashboardId}/reorder`."""

    report_ids: list[UUID] = Field(description="The reports of every card, in their new order.")


class RunOverrides(BodyModel):
    """Overrides of one run."""

    date_range: DateRange | None = Field(None, description="In place of the dashboard's.")
    filters: list[FilterBody] | None = Field(None, description="In place of the dashboard's, at most 10.")
    card_ids: list[UUID] | None = Field(None, description="Run only the cards of these reports, at most 24.")
    row_limit: Annotated[int, Clamp(1, 200)] = Field(50, description="Rows kept per card.")


class RunDashboard(BodyModel):
    """Body of `POST /dashboards/{dashboardId}/run`."""

    overrides: RunOverrides = RunOverrides()


class ResolvedCard(ResponseModel):
    """A card with its report."""

    report_id: UUID
    size: CardSize
    report: ReportSummary | None = Field(description="Null when the report was deleted.")


class DashboardAnswer(Dashboard):
    """A dashboard."""

    cards: list[ResolvedCard]
    deleted_at: None = Field(description="Null: a deleted dashboard is not found.")
