"""`/scripts/proposals` (contract 5.3)."""

from datetime import datetime
from typing import Final
from uuid import UUID

from pydantic import BaseModel

from service_core.access.model import Caller, Via
from service_core.changes.actor import Actor
from service_core.changes.envelope import Envelope
from service_core.changes.plan import live
from service_core.changes.write import Writes
from service_core.kernel.operations import Budget, Reply, Scope, operation
from service_core.kernel.params import Answer
from service_core.workspace.scripts.bodies import ProposeScript
from service_core.workspace.scripts.model import (
    Condition,
    Frequency,
    Proposal,
    ScriptSettings,
    ScriptType,
    Standing,
    Trigger,
    Verdict,
)
from service_core.workspace.scripts.plan import propose

_LONG: Final = {"content", "review_note"}
"""Fields a list leaves out."""


class ListedProposal(Answer):
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
    status: Standing
    verdict: Verdict | None
    reviewed_by: UUID | None
    reviewed_at: datetime | None
    supersedes: list[UUID]
    superseded_by: UUID | None
    created_via: Via
    created_at: datetime
    updated_at: datetime
    created_by: Actor


class WholeProposal(ListedProposal):
    """A proposal with its script and what the reviewer said."""

    content: str
    review_note: str | None


class ProposalList(Answer):
    """Every proposal, newest first."""

    proposals: list[ListedProposal]


class ProposalPath(BaseModel):
    """Which proposal."""

    proposalId: UUID  # noqa: N815 - as in the path


@operation("GET /scripts/proposals", tag="scripts")
async def list_script_proposals(*, who: Caller, writes: Writes) -> ProposalList:
    """Every proposal, newest first, with its verdict."""
    async with writes.units.look(who.workspace.id) as unit:
        found = await unit.resources.every(Proposal)
    listed = [proposal.model_dump(by_alias=True, exclude=_LONG) for proposal in found]
    return ProposalList(proposals=[ListedProposal.model_validate(one) for one in listed])


@operation("GET /scripts/proposals/{proposalId}", tag="scripts")
async def get_script_proposal(path: ProposalPath, *, who: Caller, writes: Writes) -> WholeProposal:
    """One proposal with its script and the reviewer's note."""
    async with writes.units.look(who.workspace.id) as unit:
        proposal = await live(unit.resources, Proposal, path.proposalId)
    return WholeProposal.model_validate(proposal.model_dump(by_alias=True))


@operation(
    "POST /scripts/proposals",
    scope=Scope.PROPOSE_SCRIPTS,
    budget=Budget.MUTATION,
    tag="scripts",
    errors=(409, 422),
    replays=True,
)
async def propose_script(body: ProposeScript, *, who: Caller, writes: Writes) -> Reply[Envelope]:
    """Propose a script; nothing is installed.

    An owner or admin approves or rejects it in the web application. A pending proposal of the same
    name is superseded.
    """
    return await writes.run(who, propose(who, body.proposal), dry_run=body.dry_run)


OPERATIONS = (list_script_proposals, get_script_proposal, propose_script)
