"""Settings: identity links that an event made by mistake, taken back; external ids that link nobody."""

from typing import Final

from quart import Response, request

from hosts.web.frame import Frame, Page
from service_core.access.members.model import Member
from service_core.access.model import Workspace
from service_core.access.roles import Ability
from service_core.changes.write import Writes
from service_core.insight.people.ports import Contested
from service_core.intake.poison import clean_text
from service_core.kernel.errors import Conflict, Refusal, Unavailable503
from service_core.workspace.identity.revoke import Said, event_of, revoke, revoked_of

LISTED: Final = 20
"""Contested external ids that are shown; the others come up once these are settled."""


async def looked(frame: Frame, public_id: str) -> Response:
    """The form, what the event says that was asked for, and the external ids that link nobody."""
    workspace, member = await frame.workspace(public_id, Ability.MANAGE)
    return await _page(frame, workspace, member, clean_text(request.args.get("event", "")).strip())


async def unlinked(frame: Frame, public_id: str) -> Response:
    """Take the links of an event back."""
    workspace, member = await frame.workspace(public_id, Ability.MANAGE)
    event_id, events = frame.form.text("event"), frame.service.ports.events
    who, writes = frame.caller(workspace, member), frame.part(Writes)
    try:
        await revoke(who, event_id, writes=writes, log=events, store=events)
    except Conflict as refusal:
        return await _page(frame, workspace, member, event_id, refusal)
    return frame.to(f"/w/{public_id}/identity", event=event_id, done="unlinked")


async def _page(
    frame: Frame, workspace: Workspace, member: Member, event_id: str, refusal: Refusal | None = None
) -> Response:
    who = frame.caller(workspace, member)
    event = await event_of(who, event_id, frame.service.ports.events) if event_id else None
    async with frame.part(Writes).units.look(workspace.id) as unit:
        revoked = await revoked_of(unit.resources, event_id) if event else None
    contested = await _contested(frame, workspace)
    return await frame.page(
        "identity.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        asked=event_id,
        event=event,
        said=event and Said.by(event),
        revoked=revoked,
        contested=contested,
    )


async def _contested(frame: Frame, workspace: Workspace) -> tuple[list[Contested], int] | None:
    """The external ids that several people carry, and the number of all; None while nobody can tell."""
    try:
        return await frame.service.ports.events.contested(workspace.id, LISTED)
    except Unavailable503:
        return None


PAGES: Final = (
    Page("GET /w/<public_id>/identity", looked),
    Page("POST /w/<public_id>/identity", unlinked),
)
