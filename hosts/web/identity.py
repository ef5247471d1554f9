"""Settings: identity links that an event made by mistake, taken back; external ids that link nobody."""

from typing import Final

from quart import Response, request

from hosts.web.page_context import Page, PageContext
from service_core.access.members.models import Member
from service_core.access.models import Workspace
from service_core.access.roles import Permission
from service_core.analytics.people.ports import ExternalIdConflict
from service_core.changes.change_executor import ChangeExecutor
from service_core.ingestion.sanitize_json import replace_nul_and_surrogates
from service_core.kernel.errors import ApiError, Conflict, ServiceUnavailable
from service_core.workspace.identity.revocation import (
    IdentityFacts,
    find_newest_event,
    find_revocation,
    revoke_identity_links,
)

MAX_LISTED: Final = 20
"""Contested external ids that are shown; the others come up once these are settled."""


async def show_identity(context: PageContext, public_id: str) -> Response:
    """The form, what the event says that was asked for, and the external ids that link nobody."""
    workspace, member = await context.require_workspace(public_id, Permission.MANAGE)
    return await _identity_page(
        context, workspace, member, replace_nul_and_surrogates(request.args.get("event", "")).strip()
    )


async def revoke_links_of_event(context: PageContext, public_id: str) -> Response:
    """Take the links of an event back."""
    workspace, member = await context.require_workspace(public_id, Permission.MANAGE)
    event_id, events = context.form.text("event"), context.service.ports.events
    caller, change_executor = context.caller(workspace, member), context.component(ChangeExecutor)
    try:
        await revoke_identity_links(
            caller, event_id, changes=change_executor, event_reader=events, event_store=events
        )
    except Conflict as refusal:
        return await _identity_page(context, workspace, member, event_id, refusal)
    return context.redirect_to(f"/w/{public_id}/identity", event=event_id, done="unlinked")


async def _identity_page(
    context: PageContext, workspace: Workspace, member: Member, event_id: str, refusal: ApiError | None = None
) -> Response:
    caller = context.caller(workspace, member)
    event = await find_newest_event(caller, event_id, context.service.ports.events) if event_id else None
    async with context.component(ChangeExecutor).transactions.read(workspace.id) as unit:
        revoked = await find_revocation(unit.resources, event_id) if event else None
    conflicts = await _load_id_conflicts_unless_unavailable(context, workspace)
    return await context.render_page(
        "identity.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        event_id=event_id,
        event=event,
        facts=event and IdentityFacts.from_event(event),
        revoked=revoked,
        conflicts=conflicts,
    )


async def _load_id_conflicts_unless_unavailable(
    context: PageContext, workspace: Workspace
) -> tuple[list[ExternalIdConflict], int] | None:
    """The external ids that several people carry, and the number of all; None while nobody can tell."""
    try:
        return await context.service.ports.events.list_external_id_conflicts_and_total(
            workspace.id, MAX_LISTED
        )
    except ServiceUnavailable:
        return None


PAGES: Final = (
    Page("GET /w/<public_id>/identity", show_identity),
    Page("POST /w/<public_id>/identity", revoke_links_of_event),
)
