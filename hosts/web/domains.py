"""Settings: the hosts that links of a workspace redirect from."""

from typing import Final

from quart import Response

from hosts.web.forms import id_of
from hosts.web.frame import Frame, Page
from service_core.access.members.model import Member
from service_core.access.model import Workspace
from service_core.access.roles import Ability
from service_core.changes.write import Writes
from service_core.kernel.errors import Conflict, NotFound, Refusal, TooMany, Unavailable503, Unprocessable
from service_core.workspace.links.domains.model import GRACE, DomainClaim
from service_core.workspace.links.domains.plan import claim, prove, removal
from service_core.workspace.links.resource import domain_of


async def listed(frame: Frame, public_id: str) -> Response:
    """Every domain, with what is left to do for it."""
    workspace, member = await frame.workspace(public_id, Ability.MANAGE)
    return await _page(frame, workspace, member)


async def claimed(frame: Frame, public_id: str) -> Response:
    """Claim a host."""
    workspace, member = await frame.workspace(public_id, Ability.MANAGE)
    who, shared = frame.caller(workspace, member), domain_of(frame.service.settings)
    try:
        await frame.part(Writes).run(who, claim(who, frame.form.text("host"), shared), dry_run=False)
    except (Conflict, Unprocessable) as refusal:
        return await _page(frame, workspace, member, refusal)
    return frame.to(f"/w/{public_id}/domains", done="claimed")


async def changed(frame: Frame, public_id: str, claim_id: str) -> Response:
    """Look for the proof of a claim, or let a domain go."""
    workspace, member = await frame.workspace(public_id, Ability.MANAGE)
    who, writes, action = frame.caller(workspace, member), frame.part(Writes), frame.form.text("action")
    try:
        match action:
            case "verify":
                ports = frame.service.ports
                await prove(who, id_of(claim_id), writes, ports.dns, ports.limits)
            case "remove":
                await writes.run(who, removal(id_of(claim_id)), dry_run=False)
            case _:
                raise NotFound
    except (Conflict, TooMany, Unprocessable, Unavailable503) as refusal:
        return await _page(frame, workspace, member, refusal)
    return frame.to(f"/w/{public_id}/domains", done="verified" if action == "verify" else "let-go")


async def _page(
    frame: Frame, workspace: Workspace, member: Member, refusal: Refusal | None = None
) -> Response:
    async with frame.part(Writes).units.look(workspace.id) as unit:
        found = await unit.resources.every(DomainClaim)
    return await frame.page(
        "domains.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        shared=domain_of(frame.service.settings),
        claims=sorted(found, key=lambda one: one.name),
        grace=GRACE,
    )


PAGES: Final = (
    Page("GET /w/<public_id>/domains", listed),
    Page("POST /w/<public_id>/domains", claimed),
    Page("POST /w/<public_id>/domains/<claim_id>", changed),
)
