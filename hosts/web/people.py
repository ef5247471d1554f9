"""A person's workspaces, and the way into another one by an invitation."""

from typing import Final

from quart import Response, request

from hosts.web.frame import Frame, Page
from service_core.access.members.enrol import Joining
from service_core.access.members.sign_in import SignIn
from service_core.access.roles import ABILITIES, Ability
from service_core.access.workspaces import Workspaces
from service_core.kernel.errors import BadRequest, Conflict


async def workspaces(frame: Frame) -> Response:
    """Every workspace of whoever is signed in."""
    known = await frame.store.memberships(frame.account.id)
    listed = [(workspace, member, Ability.MANAGE in ABILITIES[member.role]) for workspace, member in known]
    return await frame.page("workspaces.html", listed=listed)


async def invited(frame: Frame) -> Response:
    """What an invitation offers, and the form that fits its reader."""
    token = request.args.get("token", "")
    offer = await _joining(frame).view(token)
    return await frame.page("invitation.html", offer=offer, token=token)


async def join(frame: Frame) -> Response:
    """Accept an invitation, signed in or with a first password."""
    token, joining = frame.form.text("token"), _joining(frame)
    if frame.visitor.account is not None:
        offer = await joining.accept(token, frame.visitor.account)
        return frame.to("/workspaces", done="joined", workspace=offer.workspace.public_id)
    try:
        opened = await joining.enter(
            token, name=frame.form.text("name")[:200] or None, password=frame.form.raw("password")
        )
    except BadRequest as refusal:
        offer = await joining.view(token)
        return await frame.page("invitation.html", refusal=refusal, offer=offer, token=token)
    except Conflict:
        return frame.to("/sign-in", next=f"/invitation?token={token}")
    return frame.admitted(frame.to("/workspaces", done="joined"), opened)


def _joining(frame: Frame) -> Joining:
    return Joining(frame.store, frame.store, frame.part(Workspaces), frame.part(SignIn), frame.clock)


PAGES: Final = (
    Page("GET /workspaces", workspaces),
    Page("GET /invitation", invited),
    Page("POST /invitation", join),
)
