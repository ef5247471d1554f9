"""What of a workspace is public, publishing more of it, and taking it back."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from quart import Response, request

from hosts.web.forms import id_of
from hosts.web.frame import Frame, Page
from service_core.access.members.model import Member
from service_core.access.model import Caller, Workspace
from service_core.changes.operations import DryRunBody, DryRunQuery
from service_core.changes.resource import Records
from service_core.changes.write import Writes
from service_core.intake.poison import clean_text
from service_core.kernel.errors import BadRequest, Forbidden, NotFound, Refusal, Unprocessable
from service_core.kernel.operations import Scope
from service_core.workspace.share_links.bodies import CreateShareLink, NewShareLink, ShareLinkQuery
from service_core.workspace.share_links.model import ObjectType
from service_core.workspace.share_links.objects import OBJECTS, Published
from service_core.workspace.share_links.operations import (
    ShareLinkPath,
    create_share_link,
    list_share_links,
    revoke_share_link,
)

SHOWN: Final = 30
OFFERED: Final = 50
"""Reports, dashboards and analyses the form offers, of each; the others are found by their name."""

DAYS: Final = {"": "Until it is revoked", "7": "7 days", "30": "30 days", "90": "90 days", "365": "a year"}
TITLES: Final[Mapping[ObjectType, str]] = {
    "dashboard": "Dashboards",
    "report": "Reports",
    "analysis": "Analyses",
}


class Offered(NamedTuple):
    """What can be shared.

    Attributes:
        kinds: titles, each with values of the form and their names.
        text: what was looked for.
        more: there are others.
    """

    kinds: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    text: str
    more: bool


async def listed(frame: Frame, public_id: str) -> Response:
    """Every share link, newest first."""
    workspace, member = await frame.workspace(public_id)
    return await _page(frame, workspace, member)


async def published(frame: Frame, public_id: str) -> Response:
    """Share something, and show its address once."""
    workspace, member = await frame.workspace(public_id)
    who, writes = _writer(frame, workspace, member), frame.part(Writes)
    try:
        body = CreateShareLink(share_link=_wanted(frame), dry_run=False)
        made = await create_share_link(body, who=who, writes=writes, settings=frame.service.settings)
    except Unprocessable as refusal:
        return await _page(frame, workspace, member, refusal=refusal)
    return await _page(frame, workspace, member, made=made.answer.data)


async def revoked(frame: Frame, public_id: str, link_id: str) -> Response:
    """Revoke a link, for good."""
    workspace, member = await frame.workspace(public_id)
    who = _writer(frame, workspace, member)
    await revoke_share_link(
        ShareLinkPath(shareLinkId=id_of(link_id)),
        DryRunQuery(),
        DryRunBody(dry_run=False),
        who=who,
        writes=frame.part(Writes),
        pages=frame.store,
    )
    return frame.to(f"/w/{public_id}/shared", done="unshared")


def _wanted(frame: Frame) -> NewShareLink:
    """What the form asks for.

    Raises:
        NotFound: no such thing stands in the form.
    """
    kind, _, object_id = frame.form.text("object").partition(":")
    days = frame.form.text("days")
    if kind not in OBJECTS or days not in DAYS:
        raise NotFound
    return NewShareLink(
        object_type=cast(ObjectType, kind),
        object_id=id_of(object_id),
        expires_in_days=int(days) if days else None,
        show_workspace_name=bool(frame.form.text("named")),
    )


async def _page(
    frame: Frame,
    workspace: Workspace,
    member: Member,
    *,
    made: object = None,
    refusal: Refusal | None = None,
) -> Response:
    who, writes = frame.caller(workspace, member), frame.part(Writes)
    text = clean_text(request.args.get("find", "")).strip()
    query = ShareLinkQuery(limit=SHOWN, cursor=request.args.get("cursor"))
    try:
        page = await list_share_links(query, who=who, writes=writes, pages=frame.store)
    except BadRequest:
        raise NotFound from None
    return await frame.page(
        "sharing.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        links=page.share_links,
        following=page.next_cursor,
        saved=await _offered(writes, who, text) if _may(who) else None,
        days=DAYS,
        made=made,
    )


async def _offered(writes: Writes, who: Caller, text: str) -> Offered:
    async with writes.units.look(who.workspace.id) as unit:
        found = {kind: await _some(unit.resources, OBJECTS[kind], text) for kind in TITLES}
    kinds = [
        (title, [(f"{kind}:{one.id}", one.name) for one in found[kind][:OFFERED]])
        for kind, title in TITLES.items()
    ]
    return Offered(kinds, text, any(len(some) > OFFERED for some in found.values()))


async def _some(records: Records, model: type[Published], text: str) -> Sequence[Published]:
    """The newest of a kind, or those a text is a part of the name of; one more than is offered."""
    most = OFFERED + 1
    return await (records.named(model, text, most) if text else records.page(model, most))


def _may(who: Caller) -> bool:
    return Scope.WRITE_REPORTS in who.credential.scopes


def _writer(frame: Frame, workspace: Workspace, member: Member) -> Caller:
    """The person, who may share.

    Raises:
        Forbidden: the role does not allow it.
    """
    who = frame.caller(workspace, member)
    if not _may(who):
        raise Forbidden("Your role does not allow this", "role_required")
    return who


PAGES: Final = (
    Page("GET /w/<public_id>/shared", listed),
    Page("POST /w/<public_id>/shared", published),
    Page("POST /w/<public_id>/shared/<link_id>", revoked),
)
