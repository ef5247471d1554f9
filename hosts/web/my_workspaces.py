"""A person's workspaces, and the way into another one by an invitation."""

from typing import Final

from quart import Response, request

from hosts.web.page_context import Page, PageContext
from service_core.access.members.membership import InvitationAcceptance
from service_core.access.members.sign_in import SignIn
from service_core.access.roles import ROLE_PERMISSIONS, Permission
from service_core.access.workspace_cache import WorkspaceCache
from service_core.kernel.errors import BadRequest, Conflict


async def list_my_workspaces(frame: PageContext) -> Response:
    """Every workspace of whoever is signed in."""
    known = await frame.store.list_memberships(frame.account.id)
    listed = [
        (workspace, member, Permission.MANAGE in ROLE_PERMISSIONS[member.role]) for workspace, member in known
    ]
    return await frame.render_page("workspaces.html", listed=listed)


async def show_invitation(frame: PageContext) -> Response:
    """What an invitation offers, and the form that fits its reader."""
    token = request.args.get("token", "")
    offer = await _invitation_service(frame).view_invitation(token)
    return await frame.render_page("invitation.html", offer=offer, token=token)


async def accept_invitation(frame: PageContext) -> Response:
    """Accept an invitation, signed in or with a first password."""
    token, joining = frame.form.text("token"), _invitation_service(frame)
    if frame.visitor.account is not None:
        offer = await joining.accept_as_signed_in(token, frame.visitor.account)
        return frame.redirect_to("/workspaces", done="joined", workspace=offer.workspace.public_id)
    try:
        opened = await joining.accept_with_new_password(
            token, name=frame.form.text("name")[:200] or None, password=frame.form.raw("password")
        )
    except BadRequest as refusal:
        offer = await joining.view_invitation(token)
        return await frame.render_page("invitation.html", refusal=refusal, offer=offer, token=token)
    except Conflict:
        return frame.redirect_to("/sign-in", next=f"/invitation?token={token}")
    return frame.with_session_cookie(frame.redirect_to("/workspaces", done="joined"), opened)


def _invitation_service(frame: PageContext) -> InvitationAcceptance:
    return InvitationAcceptance(
        frame.store, frame.store, frame.component(WorkspaceCache), frame.component(SignIn), frame.clock
    )


PAGES: Final = (
    Page("GET /workspaces", list_my_workspaces),
    Page("GET /invitation", show_invitation),
    Page("POST /invitation", accept_invitation),
)
