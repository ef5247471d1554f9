"""Container scripts that programs propose, and the decision of an owner or admin."""

from typing import Final, cast

from quart import Response

from hosts.web.forms import id_of
from hosts.web.frame import Frame, Page
from service_core.access.members.model import Member
from service_core.access.model import Workspace
from service_core.access.roles import ABILITIES, Ability
from service_core.changes.write import Writes
from service_core.kernel.errors import Conflict, NotFound, Refusal, Unprocessable
from service_core.workspace.scripts.model import Proposal, Verdict
from service_core.workspace.scripts.review import review

VERDICTS: Final = {"approve": "approved", "reject": "rejected"}


async def listed(frame: Frame, public_id: str) -> Response:
    """Every proposal, newest first."""
    workspace, member = await frame.workspace(public_id)
    async with frame.part(Writes).units.look(workspace.id) as unit:
        found = await unit.resources.every(Proposal)
    return await frame.page("scripts.html", workspace=workspace, member=member, proposals=found)


async def viewed(frame: Frame, proposal_id: str) -> Response:
    """One proposal with its whole script."""
    return await _page(frame, *await _found(frame, proposal_id))


async def decided(frame: Frame, proposal_id: str) -> Response:
    """Approve or reject it, once."""
    workspace, member, proposal = await _found(frame, proposal_id)
    form = frame.form
    if form.text("decision") not in VERDICTS:
        raise NotFound
    who = frame.caller(workspace, member)
    verdict = cast(Verdict, VERDICTS[form.text("decision")])
    try:
        await frame.part(Writes).run(who, review(who, proposal.id, verdict, form.text("note")), dry_run=False)
    except (Conflict, Unprocessable) as refusal:
        found = await _found(frame, proposal_id)
        return await _page(frame, *found, refusal)
    return frame.to(f"/container/proposals/{proposal.id}", done="saved")


async def _found(frame: Frame, proposal_id: str) -> tuple[Workspace, Member, Proposal]:
    """A proposal in one of the workspaces of whoever is signed in.

    Raises:
        NotFound: there is none.
    """
    sought = id_of(proposal_id)
    for workspace, member in await frame.store.memberships(frame.account.id):
        async with frame.part(Writes).units.look(workspace.id) as unit:
            proposal = await unit.resources.get(Proposal, sought)
        if proposal is not None:
            return workspace, member, proposal
    raise NotFound


async def _page(
    frame: Frame,
    workspace: Workspace,
    member: Member,
    proposal: Proposal,
    refusal: Refusal | None = None,
) -> Response:
    return await frame.page(
        "script.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        proposal=proposal,
        may_decide=Ability.MANAGE in ABILITIES[member.role],
    )


PAGES: Final = (
    Page("GET /w/<public_id>/scripts", listed),
    Page("GET /container/proposals/<proposal_id>", viewed),
    Page("POST /container/proposals/<proposal_id>", decided),
)
