"""Answers about a write that waits for the approval of a person."""

from typing import Literal
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.changes.planned_writes import PlannedChange
from service_core.changes.resource import MillisecondDatetime
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.approvals.models import ApprovalStatus


class ApprovalPath(BaseModel):
    """Path parameters."""

    approvalId: UUID  # noqa: N815 - as in the path


class ApprovalAnswer(ResponseModel):
    """A write that a person has to approve: what it would do, where it is approved, and what became of it."""

    id: UUID
    status: ApprovalStatus
    dry_run: Literal[False] = False
    applied: bool = Field(description="Whether a person approved the write, which was applied then.")
    approval_url: str = Field(description="Page on which a person approves or declines the write.")
    poll_url: str
    expires_at: MillisecondDatetime
    decided_at: MillisecondDatetime | None
    audit_ids: list[UUID] = Field(description="Audit entries of the applied changes.")
    changes: list[PlannedChange] = Field(description="What the write would do; empty once it is decided.")
    hint: str | None
