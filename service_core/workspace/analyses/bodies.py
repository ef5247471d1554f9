"""What requests say of an analysis."""

from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, Field, field_validator

from service_core.changes.operations import DryRunBody
from service_core.insight.query_plan import StoredPlan
from service_core.kernel.params import BodyModel
from service_core.workspace.refusals import GuardedBody
from service_core.workspace.reports.bodies import refuse_request_fields
from service_core.workspace.reports.model import SavedRange


class AnalysisFields(BodyModel):
    """What an analysis may say beside its title and body."""

    plans: list[StoredPlan] | None = Field(
        None, description="At most 20, without range, comparison, cursor and format."
    )
    report_ids: list[UUID] | None = Field(
        None, description="At most 50 live reports; those the body embeds must be among them."
    )
    date_range: SavedRange | None = Field(None, description="Of the embedded reports, in place of their own.")

    @field_validator("plans", mode="before")
    @classmethod
    def _refuse_request_fields(cls, sent: Any) -> Any:
        for position, plan in enumerate(sent if isinstance(sent, list) else ()):
            refuse_request_fields(plan, f"analysis.plans[{position}]")
        return sent


class NewAnalysis(AnalysisFields):
    """An analysis to make."""

    title: str
    body_md: str = Field(description="Markdown; a line `::report[<report_id>]` embeds a report.")
    expected_updated_at: AwareDatetime | None = Field(None, description="Ignored.")


class CreateAnalysis(DryRunBody):
    """Body of `POST /analyses`."""

    analysis: NewAnalysis


class AnalysisPatch(AnalysisFields, GuardedBody):
    """Fields to change; null clears an optional one."""

    title: str | None = None
    body_md: str | None = None


class UpdateAnalysis(DryRunBody):
    """Body of `PATCH /analyses/{analysisId}`."""

    analysis: AnalysisPatch
