"""A person's workspaces, and the way into another one by an invitation."""

from typing import Final

from quart import Response, request

from hosts.web.page_context import Page, PageContext
from service_core.access.members.membership import InvitationAcceptance
from service_core.access.members.sign_in import SignIn
from service_core.access.roles import ROLE_PERMISSIONS, Permission
from service_core.access.workspace_cache import WorkspaceCache
from service_core.kernel.errors import BadRequest, Conflict


async def list_my_workspaces(context: PageContext) -> Response:
    """Every workspace of whoever is signed in."""
    known = await context.list_memberships()
    listed = [
        (workspace, member, Permission.MANAGE in ROLE_PERMISSIONS[member.role]) for workspace, member in known
    ]
    return await context.render_page("workspaces.html", listed=listed)


async def show_invitation(context: PageContext) -> Response:
    """What an invitation offers, and the form that fits its reader."""
    token = request.args.get("token", "")
    offer = await _invitation_service(context).view_open_invitation(token)
    return await context.render_page("invitation.html", offer=offer, token=token)


async def accept_invitation_signed_in_or_by_password(context: PageContext) -> Response:
    """Accept an invitation, signed in or with a first password."""
    token, joining = context.form.text("token"), _invitation_service(context)
    if context.visitor.account is not None:
        offer = await joining.accept_as_signed_in(token, context.visitor.account)
        return context.redirect_to("/workspaces", done="joined", workspace=offer.workspace.public_id)
    try:
        opened = await joining.accept_with_new_password(
            token, name=context.form.text("name")[:200] or None, password=context.form.raw("password")
        )
    except BadRequest as refusal:
        offer = await joining.view_open_invitation(token)
        return await context.render_page("invitation.html", refusal=refusal, offer=offer, token=token)
    except Conflict:
        return context.redirect_to("/sign-in", next=f"/invitation?token={token}")
    return context.with_session_cookie(context.redirect_to("/workspaces", done="joined"), opened)


def _invitation_service(context: PageContext) -> InvitationAcceptance:
    return InvitationAcceptance(
        context.store.accounts,
        context.store.invitations,
        context.component(WorkspaceCache),
        context.component(SignIn),
        context.clock,
    )


PAGES: Final = (
    Page("GET /workspaces", list_my_workspaces),
    Page("GET /invitation", show_invitation),
    Page("POST /invitation", accept_invitation_signed_in_or_by_password),
)
