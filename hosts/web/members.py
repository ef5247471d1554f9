"""Settings: the people of a workspace and who is invited."""

from dataclasses import replace
from typing import Final

from quart import Response

from hosts.web.forms import parse_id
from hosts.web.labels import ROLE_LABELS
from hosts.web.page_context import Page, PageContext
from service_core.access.email_sender import EmailSenderUnavailable
from service_core.access.members.invitations import change_role, remove_member
from service_core.access.members.invitations import invite_member as send_invitation
from service_core.access.members.models import Account, Member
from service_core.access.models import Workspace
from service_core.access.roles import ROLE_PERMISSIONS, Permission, Role
from service_core.kernel.errors import ApiError, BadRequest, Conflict, ServiceUnavailable


async def list_members(frame: PageContext, public_id: str) -> Response:
    """Everybody, and open invitations for whoever may invite."""
    workspace, member = await frame.workspace(public_id)
    return await _members_page(frame, workspace, member)


async def invite_member(frame: PageContext, public_id: str) -> Response:
    """Mail an invitation."""
    workspace, member = await frame.workspace(public_id, Permission.INVITE)
    form = frame.form
    try:
        await send_invitation(
            frame.store,
            frame.service.ports.mail,
            workspace,
            member,
            email=form.text("email"),
            role=_parse_role(form.text("role")),
            web_url=frame.web_url,
            now=frame.clock(),
        )
    except BadRequest as refusal:
        return await _members_page(frame, workspace, member, refusal)
    except EmailSenderUnavailable:
        raise ServiceUnavailable("The mail cannot be sent now", "mail_unavailable") from None
    return frame.redirect_to(f"/w/{public_id}/members", done="invited")


async def withdraw_invitation(frame: PageContext, public_id: str, invitation_id: str) -> Response:
    """Drop an open invitation."""
    workspace, _ = await frame.workspace(public_id, Permission.INVITE)
    await frame.store.withdraw_invitation(workspace.id, parse_id(invitation_id))
    return frame.redirect_to(f"/w/{public_id}/members", done="withdrawn")


async def change_member(frame: PageContext, public_id: str, account_id: str) -> Response:
    """Give somebody another role, or end a membership."""
    workspace, by = await frame.workspace(public_id)
    form, account = frame.form, parse_id(account_id)
    try:
        if form.text("action") == "remove":
            await remove_member(frame.store, by, account)
        else:
            await change_role(frame.store, by, account, _parse_role(form.text("role")))
    except Conflict as refusal:
        return await _members_page(frame, workspace, by, refusal)
    if account == by.account_id and form.text("action") == "remove":
        return frame.redirect_to("/workspaces", done="removed")
    done = "removed" if form.text("action") == "remove" else "saved"
    return frame.redirect_to(f"/w/{public_id}/members", done=done)


async def _members_page(
    frame: PageContext, workspace: Workspace, member: Member, refusal: ApiError | None = None
) -> Response:
    able = ROLE_PERMISSIONS[member.role]
    offers = await frame.store.list_open_invitations(workspace.id) if Permission.INVITE in able else []
    return await frame.render_page(
        "members.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        people=await _load_members(frame, workspace),
        invitations=[offer for offer in offers if offer.expires_at > frame.clock()],
        may_invite=Permission.INVITE in able,
        may_change=Permission.OWN in able,
        roles=[(role, ROLE_LABELS[role]) for role in Role],
    )


async def _load_members(frame: PageContext, workspace: Workspace) -> list[tuple[Account, Member]]:
    found = []
    for member in await frame.store.list_members(workspace.id):
        account = await frame.store.get_account(member.account_id)
        if account is not None:
            found.append((replace(account, password=None), member))
    return found


def _parse_role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise BadRequest("There is no such role", "invalid_parameter", field="role") from None


PAGES: Final = (
    Page("GET /w/<public_id>/members", list_members),
    Page("POST /w/<public_id>/members", invite_member),
    Page("POST /w/<public_id>/invitations/<invitation_id>", withdraw_invitation),
    Page("POST /w/<public_id>/members/<account_id>", change_member),
)
