"""`/scripts/proposals` (contract 5.3)."""

from datetime import datetime
from typing import Final
from uuid import UUID

from pydantic import BaseModel

from service_core.access.models import Caller, RequestInterface
from service_core.changes.actor import Actor
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.record_plans import get_or_404
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Scope, operation
from service_core.kernel.schemas import ResponseModel
from service_core.workspace.scripts.models import (
    Condition,
    Frequency,
    ProposalStatus,
    ReviewDecision,
    ScriptProposal,
    ScriptSettings,
    ScriptType,
    Trigger,
)
from service_core.workspace.scripts.plan import propose
from service_core.workspace.scripts.schemas import ProposeScript

_LONG: Final = {"content", "review_note"}
"""Fields a list leaves out."""


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


class ProposalList(ResponseModel):
    """Every proposal, newest first."""

    proposals: list[ListedProposal]


class ProposalPath(BaseModel):
    """Which proposal."""

    proposalId: UUID  # noqa: N815 - as in the path


@operation("GET /scripts/proposals", tag="scripts")
async def list_script_proposals(*, caller: Caller, writes: ChangeExecutor) -> ProposalList:
    """Every proposal, newest first, with its verdict."""
    async with writes.transactions.read(caller.workspace.id) as unit:
        found = await unit.resources.list_all(ScriptProposal)
    listed = [proposal.model_dump(by_alias=True, exclude=_LONG) for proposal in found]
    return ProposalList(proposals=[ListedProposal.model_validate(one) for one in listed])


@operation("GET /scripts/proposals/{proposalId}", tag="scripts")
async def get_script_proposal(path: ProposalPath, *, caller: Caller, writes: ChangeExecutor) -> WholeProposal:
    """One proposal with its script and the reviewer's note."""
    async with writes.transactions.read(caller.workspace.id) as unit:
        proposal = await get_or_404(unit.resources, ScriptProposal, path.proposalId)
    return WholeProposal.model_validate(proposal.model_dump(by_alias=True))


@operation(
    "POST /scripts/proposals",
    scope=Scope.PROPOSE_SCRIPTS,
    rate_limit=RateLimitClass.MUTATION,
    tag="scripts",
    errors=(409, 422),
    idempotent=True,
)
async def propose_script(
    body: ProposeScript, *, caller: Caller, writes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Propose a script; nothing is installed.

    An owner or admin approves or rejects it in the web application. A pending proposal of the same
    name is superseded.
    """
    return await writes.execute(caller, propose(caller, body.proposal), dry_run=body.dry_run)


OPERATIONS = (list_script_proposals, get_script_proposal, propose_script)
