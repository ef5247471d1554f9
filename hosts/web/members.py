"""Settings: the people of a workspace and who is invited."""

from dataclasses import replace
from typing import Final

from quart import Response

from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.labels import ROLE_LABELS
from hosts.web.page_context import Page, PageContext
from service_core.access.email_sender import EmailSenderUnavailable
from service_core.access.members.invitations import (
    change_role_unless_last_owner,
    leave_or_remove_unless_last_owner,
)
from service_core.access.members.invitations import save_and_email_invitation as send_invitation
from service_core.access.members.models import Account, Member
from service_core.access.models import Workspace
from service_core.access.roles import ROLE_PERMISSIONS, Permission, Role
from service_core.kernel.errors import ApiError, BadRequest, Conflict, ServiceUnavailable


async def list_members(context: PageContext, public_id: str) -> Response:
    """Everybody, and open invitations for whoever may invite."""
    workspace, member = await context.require_workspace(public_id)
    return await _members_page(context, workspace, member)


async def mail_invitation(context: PageContext, public_id: str) -> Response:
    """Mail an invitation."""
    workspace, member = await context.require_workspace(public_id, Permission.INVITE)
    form = context.form
    try:
        await send_invitation(
            context.store.invitations,
            context.service.ports.mail,
            workspace,
            member,
            email=form.text("email"),
            role=_parse_role(form.text("role")),
            web_url=context.web_url,
            now=context.clock(),
        )
    except BadRequest as refusal:
        return await _members_page(context, workspace, member, refusal)
    except EmailSenderUnavailable:
        raise ServiceUnavailable("The e-mail cannot be sent right now", "mail_unavailable") from None
    return context.redirect_to(f"/w/{public_id}/members", done="invited")


async def withdraw_invitation(context: PageContext, public_id: str, invitation_id: str) -> Response:
    """Drop an open invitation."""
    workspace, _ = await context.require_workspace(public_id, Permission.INVITE)
    await context.store.invitations.withdraw_invitation(
        workspace.id, parse_id_or_raise_not_found(invitation_id)
    )
    return context.redirect_to(f"/w/{public_id}/members", done="withdrawn")


async def change_role_or_remove_member(context: PageContext, public_id: str, account_id: str) -> Response:
    """Give somebody another role, or end a membership."""
    workspace, by = await context.require_workspace(public_id)
    form, account = context.form, parse_id_or_raise_not_found(account_id)
    try:
        if form.text("action") == "remove":
            await leave_or_remove_unless_last_owner(
                context.store.members,
                by,
                account,
                context.clock(),
                owner_takes_over_keys=form.text("keep_keys") == "yes",
            )
        else:
            await change_role_unless_last_owner(
                context.store.members, by, account, _parse_role(form.text("role")), context.clock()
            )
    except Conflict as refusal:
        return await _members_page(context, workspace, by, refusal)
    if account == by.account_id and form.text("action") == "remove":
        return context.redirect_to("/workspaces", done="removed")
    done = "removed" if form.text("action") == "remove" else "saved"
    return context.redirect_to(f"/w/{public_id}/members", done=done)


async def _members_page(
    context: PageContext, workspace: Workspace, member: Member, refusal: ApiError | None = None
) -> Response:
    able = ROLE_PERMISSIONS[member.role]
    offers = (
        await context.store.invitations.list_open_invitations(workspace.id)
        if Permission.INVITE in able
        else []
    )
    return await context.render_page(
        "members.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        people=await _load_members_without_password_hashes(context, workspace),
        invitations=[offer for offer in offers if offer.expires_at > context.clock()],
        may_invite=Permission.INVITE in able,
        may_change=Permission.OWN in able,
        roles=[(role, ROLE_LABELS[role]) for role in Role],
    )


async def _load_members_without_password_hashes(
    context: PageContext, workspace: Workspace
) -> list[tuple[Account, Member]]:
    people = []
    for member in await context.store.members.list_members(workspace.id):
        account = await context.store.accounts.get_account(member.account_id)
        if account is not None:
            people.append((replace(account, password=None), member))
    return people


def _parse_role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise BadRequest("There is no such role", "invalid_parameter", field="role") from None


PAGES: Final = (
    Page("GET /w/<public_id>/members", list_members),
    Page("POST /w/<public_id>/members", mail_invitation),
    Page("POST /w/<public_id>/invitations/<invitation_id>", withdraw_invitation),
    Page("POST /w/<public_id>/members/<account_id>", change_role_or_remove_member),
)
