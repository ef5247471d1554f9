"""Approval and rejection of a proposal by a person; neither can be undone."""

from uuid import UUID

from service_core.access.models import Caller
from service_core.access.roles import Permission, require_permission
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404
from service_core.kernel.errors import Conflict, Unprocessable
from service_core.workspace.scripts.models import ProposalStatus, ReviewDecision, ScriptProposal
from service_core.workspace.scripts.resource import MAX_NOTE_LENGTH


def plan_review_of_pending_proposal(
    caller: Caller, proposal_id: UUID, verdict: ReviewDecision, note: str | None
) -> ChangePlanner:
    """Returns the plan that stores the decision about a proposal.

    Args:
        caller: an owner or admin; keys and OAuth clients cannot decide, whatever their scopes.
        proposal_id: the pending proposal.
        verdict: whether it is approved or rejected.
        note: message to the author, at most 2,000 characters.

    Raises:
        Forbidden: ``role_required``.
        NotFound: the workspace has no such proposal.
        Unprocessable: ``invalid_field``, the note is too long.
        Conflict: ``resource_changed``, it is not pending any more.
    """

    async def decide_pending_proposal(transaction: Transaction) -> Change:
        person = caller.acting_user
        require_permission(person.role if person and not person.grant.client_id else None, Permission.MANAGE)
        if note and len(note) > MAX_NOTE_LENGTH:
            raise Unprocessable(
                f"A note has at most {MAX_NOTE_LENGTH} characters", "invalid_field", field="note"
            )
        proposal = await get_or_404(transaction.resources, ScriptProposal, proposal_id)
        if proposal.status is not ProposalStatus.PENDING:
            raise Conflict("This proposal was decided before", "resource_changed")
        decided = {
            "status": ProposalStatus(verdict),
            "verdict": verdict,
            "review_note": note or None,
            "reviewed_by": person.grant.account_id if person else None,
            "reviewed_at": caller.now,
            "updated_at": proposal.next_updated_at(caller.now),
        }
        new = ScriptProposal.model_validate(proposal.model_dump(by_alias=True) | decided)
        return Change(Action.UPDATE, proposal, new)

    return decide_pending_proposal
