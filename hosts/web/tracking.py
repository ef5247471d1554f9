"""Settings: the script for web pages, and which pages may send in the name of the workspace."""

from dataclasses import replace
from typing import Final

from quart import Response

from hosts.web.frame import Frame, Page
from service_core.access.members.model import Member
from service_core.access.model import Workspace
from service_core.access.roles import ABILITIES, Ability
from service_core.intake.origins import read_origins
from service_core.kernel.errors import Refusal, Unprocessable


async def shown(frame: Frame, public_id: str) -> Response:
    """What to put on a page, and the origins that may send."""
    workspace, member = await frame.workspace(public_id)
    return await _page(frame, workspace, member)


async def saved(frame: Frame, public_id: str) -> Response:
    """Change the origins."""
    workspace, member = await frame.workspace(public_id, Ability.MANAGE)
    try:
        origins = read_origins(frame.form.text("origins"))
    except Unprocessable as refusal:
        return await _page(frame, workspace, member, refusal)
    await frame.store.save_workspace(replace(workspace, allowed_origins=origins))
    return frame.to(f"/w/{public_id}/tracking", done="saved")


async def _page(
    frame: Frame, workspace: Workspace, member: Member, refusal: Refusal | None = None
) -> Response:
    http = frame.service.settings.http
    return await frame.page(
        "tracking.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        ingest=http.events_url,
        is_public=bool(http.ingest_url),
        origins=frame.form.text("origins") if refusal else "\n".join(workspace.allowed_origins),
        manages=Ability.MANAGE in ABILITIES[member.role],
    )


PAGES: Final = (
    Page("GET /w/<public_id>/tracking", shown),
    Page("POST /w/<public_id>/tracking", saved),
)
