"""Request and response models of script proposals."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from service_core.access.models import RequestInterface
from service_core.changes.actor import Actor
from service_core.kernel.schemas import BodyModel, ResponseModel
from service_core.workspace.scripts.models import (
    Condition,
    Frequency,
    ProposalStatus,
    ReviewDecision,
    ScriptSettings,
    ScriptType,
    Trigger,
)


class NewProposal(BodyModel):
    """A script to propose."""

    name: str
    type: ScriptType
    content: str = Field(description="The script itself; for `external` its https address.")
    trigger: Trigger = "page_load"
    frequency: Frequency = "always"
    conditions: list[Condition] = Field(default_factory=list, description="At most 10; all must hold.")
    settings: ScriptSettings = ScriptSettings()
    note: str | None = Field(None, description="A note for the reviewer.")


class ListedProposal(ResponseModel):
    """A proposal, without its script."""

    id: UUID
    workspace_id: UUID
    name: str
    type: ScriptType
    trigger: Trigger
    frequency: Frequency
    conditions: list[Condition]
    settings: ScriptSettings
    note: str | None
    status: ProposalStatus
    verdict: ReviewDecision | None
    reviewed_by: UUID | None
    reviewed_at: datetime | None
    supersedes: list[UUID]
    superseded_by: UUID | None
    created_via: RequestInterface
    created_at: datetime
    updated_at: datetime
    created_by: Actor


class WholeProposal(ListedProposal):
    """A proposal with its script and what the reviewer said."""

    content: str
    review_note: str | None
