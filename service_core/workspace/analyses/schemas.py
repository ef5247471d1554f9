"""Request and response models of analyses."""

from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, Field, field_validator

from service_core.analytics.reads.query.schemas import SavedQuery
from service_core.changes.optimistic_locking import VersionedBody
from service_core.kernel.schemas import BodyModel
from service_core.workspace.analyses.models import Analysis
from service_core.workspace.reports.models import SavedRange
from service_core.workspace.reports.schemas import refuse_request_only_fields


class AnalysisFields(BodyModel):
    """Optional fields of an analysis."""

    plans: list[SavedQuery] | None = Field(
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
            refuse_request_only_fields(plan, f"analysis.plans[{position}]")
        return sent


class NewAnalysis(AnalysisFields):
    """An analysis to create."""

    title: str
    body_md: str = Field(description="Markdown; a line `::report[<report_id>]` embeds a report.")
    expected_updated_at: AwareDatetime | None = Field(None, description="Ignored.")


class AnalysisPatch(AnalysisFields, VersionedBody):
    """Fields to change; null clears an optional one."""

    title: str | None = None
    body_md: str | None = None


class AnalysisAnswer(Analysis):
    """An analysis."""

    deleted_at: None = Field(description="Null: a deleted analysis is not found.")
