"""What was changed in a workspace, by whom, and taking it back."""

from typing import Final

from quart import Response, request

from hosts.web.forms import id_of
from hosts.web.frame import Frame, Page
from service_core.access.members.model import Member
from service_core.access.model import Caller, Workspace
from service_core.changes.entry import AuditEntry
from service_core.changes.operations import AuditQuery, list_audit
from service_core.changes.undo import undo
from service_core.changes.write import Writes
from service_core.kernel.errors import BadRequest, Conflict, NotFound, Refusal

SHOWN: Final = 30


async def listed(frame: Frame, public_id: str) -> Response:
    """Applied writes, newest first."""
    workspace, member = await frame.workspace(public_id)
    return await _page(frame, workspace, member)


async def undone(frame: Frame, public_id: str, entry_id: str) -> Response:
    """Take one back."""
    workspace, member = await frame.workspace(public_id)
    who, writes = frame.caller(workspace, member), frame.part(Writes)
    try:
        await writes.run(who, undo(who, writes.kinds, id_of(entry_id)), dry_run=False)
    except Conflict as refusal:
        return await _page(frame, workspace, member, refusal)
    return frame.to(f"/w/{public_id}/audit", done="undone")


async def _page(
    frame: Frame, workspace: Workspace, member: Member, refusal: Refusal | None = None
) -> Response:
    who, writes = frame.caller(workspace, member), frame.part(Writes)
    query = AuditQuery(limit=SHOWN, cursor=request.args.get("cursor"))
    try:
        page = await list_audit.handler(query, who=who, writes=writes)
    except BadRequest:
        raise NotFound from None
    return await frame.page(
        "audit.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        entries=[(entry, _may_undo(entry, who, writes)) for entry in page.entries],
        following=page.next_cursor,
    )


def _may_undo(entry: AuditEntry, who: Caller, writes: Writes) -> bool:
    kind = writes.kinds.get(entry.resource.type)
    return entry.undoable and kind is not None and kind.scope in who.credential.scopes


PAGES: Final = (
    Page("GET /w/<public_id>/audit", listed),
    Page("POST /w/<public_id>/audit/<entry_id>", undone),
)
