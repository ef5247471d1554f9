"""What was changed in a workspace, by whom, and taking it back."""

from typing import Final

from quart import Response, request

from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.labels import ACTION_LABELS
from hosts.web.page_context import Page, PageContext
from service_core.access.members.models import Member
from service_core.access.models import Caller, Workspace
from service_core.changes.audit_log import AuditEntry
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.operations import list_audit
from service_core.changes.schemas import AuditQuery
from service_core.changes.undo import plan_undo
from service_core.kernel.errors import ApiError, BadRequest, Conflict, NotFound

MAX_ENTRIES: Final = 30


async def list_audit_entries(context: PageContext, public_id: str) -> Response:
    """Applied writes, newest first."""
    workspace, member = await context.require_workspace(public_id)
    return await _audit_page(context, workspace, member)


async def undo_audit_entry(context: PageContext, public_id: str, entry_id: str) -> Response:
    """Take one back."""
    workspace, member = await context.require_workspace(public_id)
    caller, change_executor = context.caller(workspace, member), context.component(ChangeExecutor)
    try:
        await change_executor.preview_or_apply_change(
            caller,
            plan_undo(caller, change_executor.resource_types, parse_id_or_raise_not_found(entry_id)),
            dry_run=False,
        )
    except Conflict as refusal:
        return await _audit_page(context, workspace, member, refusal)
    return context.redirect_to(f"/w/{public_id}/audit", done="undone")


async def _audit_page(
    context: PageContext, workspace: Workspace, member: Member, refusal: ApiError | None = None
) -> Response:
    caller, change_executor = context.caller(workspace, member), context.component(ChangeExecutor)
    query = AuditQuery(limit=MAX_ENTRIES, cursor=request.args.get("cursor"))
    try:
        page = await list_audit.handler(query, caller=caller, executor=change_executor)
    except BadRequest:
        raise NotFound from None
    return await context.render_page(
        "audit.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        actions=ACTION_LABELS,
        entries=[(entry, _may_undo(entry, caller, change_executor)) for entry in page.entries],
        following=page.next_cursor,
    )


def _may_undo(entry: AuditEntry, caller: Caller, change_executor: ChangeExecutor) -> bool:
    kind = change_executor.resource_types.get(entry.resource.type)
    return entry.undoable and kind is not None and kind.scope in caller.credential.scopes


PAGES: Final = (
    Page("GET /w/<public_id>/audit", list_audit_entries),
    Page("POST /w/<public_id>/audit/<entry_id>", undo_audit_entry),
)
