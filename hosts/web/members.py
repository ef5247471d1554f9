"""Settings: the people of a workspace and who is invited."""

from dataclasses import replace
from typing import Final

from quart import Response

from hosts.web.forms import id_of
from hosts.web.frame import Frame, Page
from hosts.web.wording import ROLE_WORDS
from service_core.access.mail import MailDown
from service_core.access.members.invite import change_role, invite, remove_member
from service_core.access.members.model import Account, Member
from service_core.access.model import Workspace
from service_core.access.roles import ABILITIES, Ability, Role
from service_core.kernel.errors import BadRequest, Conflict, Refusal, Unavailable503


async def listed(frame: Frame, public_id: str) -> Response:
    """Everybody, and open invitations for whoever may invite."""
    workspace, member = await frame.workspace(public_id)
    return await _page(frame, workspace, member)


async def invited(frame: Frame, public_id: str) -> Response:
    """Mail an invitation."""
    workspace, member = await frame.workspace(public_id, Ability.INVITE)
    form = frame.form
    try:
        await invite(
            frame.store,
            frame.service.ports.mail,
            workspace,
            member,
            email=form.text("email"),
            role=_role(form.text("role")),
            web_url=frame.web_url,
            now=frame.clock(),
        )
    except BadRequest as refusal:
        return await _page(frame, workspace, member, refusal)
    except MailDown:
        raise Unavailable503("The mail cannot be sent now", "mail_unavailable") from None
    return frame.to(f"/w/{public_id}/members", done="invited")


async def withdrawn(frame: Frame, public_id: str, invitation_id: str) -> Response:
    """Drop an open invitation."""
    workspace, _ = await frame.workspace(public_id, Ability.INVITE)
    await frame.store.withdraw(workspace.id, id_of(invitation_id))
    return frame.to(f"/w/{public_id}/members", done="withdrawn")


async def changed(frame: Frame, public_id: str, account_id: str) -> Response:
    """Give somebody another role, or end a membership."""
    workspace, by = await frame.workspace(public_id)
    form, account = frame.form, id_of(account_id)
    try:
        if form.text("action") == "remove":
            await remove_member(frame.store, by, account)
        else:
            await change_role(frame.store, by, account, _role(form.text("role")))
    except Conflict as refusal:
        return await _page(frame, workspace, by, refusal)
    if account == by.account_id and form.text("action") == "remove":
        return frame.to("/workspaces", done="removed")
    done = "removed" if form.text("action") == "remove" else "saved"
    return frame.to(f"/w/{public_id}/members", done=done)


async def _page(
    frame: Frame, workspace: Workspace, member: Member, refusal: Refusal | None = None
) -> Response:
    able = ABILITIES[member.role]
    offers = await frame.store.invitations(workspace.id) if Ability.INVITE in able else []
    return await frame.page(
        "members.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        people=await _people(frame, workspace),
        invitations=[offer for offer in offers if offer.expires_at > frame.clock()],
        may_invite=Ability.INVITE in able,
        may_change=Ability.OWN in able,
        roles=[(role, ROLE_WORDS[role]) for role in Role],
    )


async def _people(frame: Frame, workspace: Workspace) -> list[tuple[Account, Member]]:
    found = []
    for member in await frame.store.members(workspace.id):
        account = await frame.store.account(member.account_id)
        if account is not None:
            found.append((replace(account, password=None), member))
    return found


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise BadRequest("There is no such role", "invalid_parameter", field="role") from None


PAGES: Final = (
    Page("GET /w/<public_id>/members", listed),
    Page("POST /w/<public_id>/members", invited),
    Page("POST /w/<public_id>/invitations/<invitation_id>", withdrawn),
    Page("POST /w/<public_id>/members/<account_id>", changed),
)
