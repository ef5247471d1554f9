"""Settings: programs that people let in over OAuth."""

from typing import Final
from uuid import UUID

from quart import Response

from hosts.web.frame import Frame, Page
from hosts.web.wording import scope_lines
from service_core.access.members.model import Member
from service_core.access.model import Grant
from service_core.access.roles import ABILITIES, OAUTH_SCOPES, Ability
from service_core.kernel.errors import NotFound


async def listed(frame: Frame, public_id: str) -> Response:
    """The programs a person let in; an owner or admin sees those of everybody."""
    workspace, member = await frame.workspace(public_id)
    people = {one.account_id: one for one in await frame.store.members(workspace.id)}
    shown = []
    for grant in await _visible(frame, member):
        person = await frame.store.account(grant.account_id)
        role = people[grant.account_id].role
        shown.append((grant, person, scope_lines(grant.scopes & OAUTH_SCOPES[role])))
    return await frame.page("connections.html", workspace=workspace, member=member, shown=shown)


async def ended(frame: Frame, public_id: str, grant_id: str) -> Response:
    """Disconnect a program."""
    _, member = await frame.workspace(public_id)
    grants = [grant for grant in await _visible(frame, member) if str(grant.id) == grant_id]
    if not grants:
        raise NotFound
    await frame.store.end_grant(UUID(grant_id), frame.clock())
    return frame.to(f"/w/{public_id}/connections", done="disconnected")


async def _visible(frame: Frame, member: Member) -> list[Grant]:
    if Ability.MANAGE in ABILITIES[member.role]:
        return await frame.store.grants(member.workspace_id)
    return await frame.store.grants_of(member.account_id, member.workspace_id)


PAGES: Final = (
    Page("GET /w/<public_id>/connections", listed),
    Page("POST /w/<public_id>/connections/<grant_id>", ended),
)
