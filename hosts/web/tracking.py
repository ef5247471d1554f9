"""Settings: the script for web pages, and which pages may send in the name of the workspace."""

from dataclasses import replace
from typing import Final

from quart import Response

from hosts.web.page_context import Page, PageContext
from service_core.access.members.models import Member
from service_core.access.models import Workspace
from service_core.access.roles import ROLE_PERMISSIONS, Permission
from service_core.ingestion.cors import parse_and_validate_origins
from service_core.kernel.errors import ApiError, Unprocessable


async def show_tracking(context: PageContext, public_id: str) -> Response:
    """What to put on a page, and the origins that may send."""
    workspace, member = await context.require_workspace(public_id)
    return await _tracking_page(context, workspace, member)


async def save_allowed_origins(context: PageContext, public_id: str) -> Response:
    """Change the origins."""
    workspace, member = await context.require_workspace(public_id, Permission.MANAGE)
    try:
        origins = parse_and_validate_origins(context.form.text("origins"))
    except Unprocessable as refusal:
        return await _tracking_page(context, workspace, member, refusal)
    await context.store.workspace_settings.save_workspace(replace(workspace, allowed_origins=origins))
    return context.redirect_to(f"/w/{public_id}/tracking", done="saved")


async def _tracking_page(
    context: PageContext, workspace: Workspace, member: Member, refusal: ApiError | None = None
) -> Response:
    http = context.service.settings.http
    return await context.render_page(
        "tracking.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        ingest=http.effective_ingest_url,
        is_public=bool(http.ingest_url),
        origins=context.form.text("origins") if refusal else "\n".join(workspace.allowed_origins),
        manages=Permission.MANAGE in ROLE_PERMISSIONS[member.role],
    )


PAGES: Final = (
    Page("GET /w/<public_id>/tracking", show_tracking),
    Page("POST /w/<public_id>/tracking", save_allowed_origins),
)
