"""Stored script proposals."""

from enum import StrEnum
from typing import ClassVar, Literal
from uuid import UUID

from pydantic import Field

from service_core.changes.resource import MillisecondDatetime, Resource
from service_core.kernel.schemas import BodyModel

ScriptType = Literal["inline", "external", "pixel"]
Trigger = Literal["page_load", "dom_ready", "window_load", "custom"]
Frequency = Literal["always", "once_per_page", "once_per_session"]
ConditionType = Literal["url_path", "url_host", "url_parameter", "referrer", "device_type"]
Operator = Literal["equals", "not_equals", "contains", "not_contains", "starts_with", "ends_with"]
ReviewDecision = Literal["approved", "rejected"]


class ProposalStatus(StrEnum):
    """Status of a proposal."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    SUPERSEDED = "superseded"


class Condition(BodyModel):
    """A condition on the page; the script runs when all hold."""

    type: ConditionType
    operator: Operator
    value: str
    parameter: str | None = Field(None, description="Name of the URL parameter, for `url_parameter`.")


class ScriptSettings(BodyModel):
    """How the script is loaded."""

    async_: bool | None = Field(None, alias="async")
    defer: bool | None = None
    integrity: str | None = Field(None, description="Required for `external`: the hash of the file.")
    crossorigin: Literal["anonymous", "use-credentials"] | None = None


class ScriptProposal(Resource):
    """A stored proposal."""

    resource_type: ClassVar[str] = "container_script_proposal"

    type: ScriptType
    content: str
    trigger: Trigger
    frequency: Frequency
    conditions: tuple[Condition, ...]
    settings: ScriptSettings
    note: str | None
    status: ProposalStatus = ProposalStatus.PENDING
    verdict: ReviewDecision | None = None
    review_note: str | None = None
    reviewed_by: UUID | None = None
    reviewed_at: MillisecondDatetime | None = None
    supersedes: tuple[UUID, ...] = ()
    superseded_by: UUID | None = None
