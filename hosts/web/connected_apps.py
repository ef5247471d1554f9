"""Settings: programs that people let in over OAuth."""

from typing import Final
from uuid import UUID

from quart import Response

from hosts.web.labels import label_scopes
from hosts.web.page_context import Page, PageContext
from service_core.access.members.models import Member
from service_core.access.models import OAuthGrant
from service_core.access.roles import ROLE_OAUTH_SCOPES, ROLE_PERMISSIONS, Permission
from service_core.kernel.errors import NotFound


async def list_own_or_all_connected_apps(context: PageContext, public_id: str) -> Response:
    """The programs a person let in; an owner or admin sees those of everybody."""
    workspace, member = await context.require_workspace(public_id)
    people = {
        workspace_member.account_id: workspace_member
        for workspace_member in await context.store.members.list_members(workspace.id)
    }
    apps = []
    for grant in await _visible_grants(context, member):
        person = await context.store.accounts.get_account(grant.account_id)
        role = people[grant.account_id].role
        apps.append((grant, person, label_scopes(grant.scopes & ROLE_OAUTH_SCOPES[role])))
    return await context.render_page("connected_apps.html", workspace=workspace, member=member, apps=apps)


async def disconnect_visible_app(context: PageContext, public_id: str, grant_id: str) -> Response:
    """Disconnect a program."""
    _, member = await context.require_workspace(public_id)
    grants = [grant for grant in await _visible_grants(context, member) if str(grant.id) == grant_id]
    if not grants:
        raise NotFound
    await context.store.one_time_tokens.end_grant(UUID(grant_id), context.clock())
    return context.redirect_to(f"/w/{public_id}/connections", done="disconnected")


async def _visible_grants(context: PageContext, member: Member) -> list[OAuthGrant]:
    if Permission.MANAGE in ROLE_PERMISSIONS[member.role]:
        return await context.store.oauth_grants.list_active_grants(member.workspace_id)
    return await context.store.one_time_tokens.list_account_grants(member.account_id, member.workspace_id)


PAGES: Final = (
    Page("GET /w/<public_id>/connections", list_own_or_all_connected_apps),
    Page("POST /w/<public_id>/connections/<grant_id>", disconnect_visible_app),
)
