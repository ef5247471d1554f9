"""Settings: the keys of a workspace."""

from collections.abc import Awaitable, Callable
from typing import Final

from quart import Response

from hosts.web.forms import id_of
from hosts.web.frame import Frame, Page
from hosts.web.wording import scope_lines
from service_core.access.key_settings import KeySettings
from service_core.access.keys import Minted
from service_core.access.members.model import Member
from service_core.access.model import CredentialKind, Workspace
from service_core.access.plans import PLANS, UNLIMITED
from service_core.access.roles import ABILITIES, KEY_SCOPES, Ability
from service_core.access.scopes import parse_scopes
from service_core.kernel.errors import BadRequest, NotFound, Refusal

Work = Callable[[KeySettings, Workspace, Member], Awaitable[Minted | None]]


async def listed(frame: Frame, public_id: str) -> Response:
    """Every live key, with what can be done to it."""
    workspace, member = await frame.workspace(public_id, Ability.MANAGE)
    return await _page(frame, workspace, member)


async def create(frame: Frame, public_id: str) -> Response:
    """Make a named key and show it once."""
    form = frame.form
    return await _done(
        frame,
        public_id,
        lambda settings, workspace, by: settings.create(
            workspace, by, form.text("name"), parse_scopes(form.all("scope"))
        ),
    )


async def change(frame: Frame, public_id: str, key_id: str) -> Response:
    """Rename, limit or revoke a named key."""
    form, key = frame.form, id_of(key_id)

    async def work(settings: KeySettings, workspace: Workspace, by: Member) -> None:
        match form.text("action"):
            case "rename":
                await settings.rename(workspace, by, key, form.text("name"))
            case "limit":
                await settings.limit(workspace, by, key, form.number("rate_limit") or 1)
            case "revoke":
                await settings.revoke(workspace, by, key)
            case _:
                raise NotFound

    return await _done(frame, public_id, work)


async def regenerate(frame: Frame, public_id: str, kind: str) -> Response:
    """Replace the Agent key or the write key and show the new one once."""
    kinds = {"agent": CredentialKind.AGENT, "write": CredentialKind.WRITE}
    if kind not in kinds:
        raise NotFound
    return await _done(
        frame, public_id, lambda settings, workspace, by: settings.regenerate(workspace, by, kinds[kind])
    )


async def _done(frame: Frame, public_id: str, work: Work) -> Response:
    """Do what a form asks; a new key is shown in the answer itself and nowhere again."""
    workspace, member = await frame.workspace(public_id, Ability.MANAGE)
    try:
        minted = await work(_settings(frame), workspace, member)
    except BadRequest as refusal:
        return await _page(frame, workspace, member, refusal=refusal)
    if minted is not None:
        return await _page(frame, workspace, member, minted=minted)
    done = "revoked" if frame.form.text("action") == "revoke" else "saved"
    return frame.to(f"/w/{workspace.public_id}/keys", done=done)


async def _page(
    frame: Frame,
    workspace: Workspace,
    member: Member,
    *,
    minted: Minted | None = None,
    refusal: Refusal | None = None,
) -> Response:
    found = await _settings(frame).listed(workspace, member)
    return await frame.page(
        "keys.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        keys=[(key, scope_lines(key.scopes)) for key in found],
        may_limit=Ability.GRANT_WRITES in ABILITIES[member.role],
        cap=PLANS.get(workspace.plan, UNLIMITED).key_cap,
        grantable=scope_lines(KEY_SCOPES[member.role]),
        minted=minted,
    )


def _settings(frame: Frame) -> KeySettings:
    return KeySettings(frame.store, frame.clock)


PAGES: Final = (
    Page("GET /w/<public_id>/keys", listed),
    Page("POST /w/<public_id>/keys", create),
    Page("POST /w/<public_id>/keys/<key_id>", change),
    Page("POST /w/<public_id>/keys/<kind>/regenerate", regenerate),
)
