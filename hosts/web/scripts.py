"""Container scripts that programs propose, and the decision of an owner or admin."""

from typing import Final, cast

from quart import Response

from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from service_core.access.members.models import Member
from service_core.access.models import Workspace
from service_core.access.roles import ROLE_PERMISSIONS, Permission
from service_core.changes.change_executor import ChangeExecutor
from service_core.kernel.errors import ApiError, Conflict, NotFound, Unprocessable
from service_core.workspace.scripts.models import ReviewDecision, ScriptProposal
from service_core.workspace.scripts.review_proposal import plan_review_of_pending_proposal

VERDICTS: Final = {"approve": "approved", "reject": "rejected"}


async def list_proposals(context: PageContext, public_id: str) -> Response:
    """Every proposal, newest first."""
    workspace, member = await context.require_workspace(public_id)
    async with context.component(ChangeExecutor).transactions.read(workspace.id) as unit:
        proposals = await unit.resources.list_all(ScriptProposal)
    return await context.render_page("scripts.html", workspace=workspace, member=member, proposals=proposals)


async def show_proposal(context: PageContext, proposal_id: str) -> Response:
    """One proposal with its whole script."""
    return await _proposal_page(context, *await _load_proposal_of_any_membership(context, proposal_id))


async def approve_or_reject_proposal(context: PageContext, proposal_id: str) -> Response:
    """Approve or reject it, once."""
    workspace, member, proposal = await _load_proposal_of_any_membership(context, proposal_id)
    form = context.form
    if form.text("decision") not in VERDICTS:
        raise NotFound
    caller = context.caller(workspace, member)
    verdict = cast(ReviewDecision, VERDICTS[form.text("decision")])
    try:
        await context.component(ChangeExecutor).preview_or_apply_change(
            caller,
            plan_review_of_pending_proposal(caller, proposal.id, verdict, form.text("note")),
            dry_run=False,
        )
    except (Conflict, Unprocessable) as refusal:
        reviewed = await _load_proposal_of_any_membership(context, proposal_id)
        return await _proposal_page(context, *reviewed, refusal)
    return context.redirect_to(f"/container/proposals/{proposal.id}", done="saved")


async def _load_proposal_of_any_membership(
    context: PageContext, proposal_id: str
) -> tuple[Workspace, Member, ScriptProposal]:
    """A proposal in one of the workspaces of whoever is signed in.

    Raises:
        NotFound: there is none.
    """
    sought = parse_id_or_raise_not_found(proposal_id)
    for workspace, member in await context.list_memberships():
        async with context.component(ChangeExecutor).transactions.read(workspace.id) as unit:
            proposal = await unit.resources.get(ScriptProposal, sought)
        if proposal is not None:
            return workspace, member, proposal
    raise NotFound


async def _proposal_page(
    context: PageContext,
    workspace: Workspace,
    member: Member,
    proposal: ScriptProposal,
    refusal: ApiError | None = None,
) -> Response:
    return await context.render_page(
        "script.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        navigation_path="/scripts",
        proposal=proposal,
        may_decide=Permission.MANAGE in ROLE_PERMISSIONS[member.role],
    )


PAGES: Final = (
    Page("GET /w/<public_id>/scripts", list_proposals),
    Page("GET /container/proposals/<proposal_id>", show_proposal),
    Page("POST /container/proposals/<proposal_id>", approve_or_reject_proposal),
)
