"""Settings: the keys of a workspace."""

from collections.abc import Awaitable, Callable
from typing import Final

from quart import Response

from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.labels import label_scopes
from hosts.web.one_time import (
    ShownSecret,
    delete_secret_cookie,
    is_first_submission,
    read_secret_of_cookie,
    redirect_with_secret,
)
from hosts.web.page_context import Page, PageContext
from service_core.access.api_keys import KeyWithSecret
from service_core.access.billing_plans import BILLING_PLANS, UNLIMITED_PLAN
from service_core.access.key_management import KeyManagement
from service_core.access.members.models import Member
from service_core.access.models import CredentialKind, Workspace
from service_core.access.roles import GRANTABLE_KEY_SCOPES, ROLE_PERMISSIONS, Permission
from service_core.access.scopes import parse_scopes_rejecting_unknown
from service_core.kernel.errors import ApiError, BadRequest, NotFound

KeyCreation = Callable[[KeyManagement, Workspace, Member], Awaitable[KeyWithSecret]]


async def list_keys(context: PageContext, public_id: str) -> Response:
    """Every live key, with what can be done to it, and once the key that was just created."""
    workspace, member = await context.require_workspace(public_id, Permission.MANAGE)
    shown = read_secret_of_cookie(context)
    page = await _keys_page(context, workspace, member, shown=shown)
    return page if shown is None else delete_secret_cookie(context, f"/w/{public_id}/keys", page)


async def create_key_once(context: PageContext, public_id: str) -> Response:
    """Create a named key and lead to the page that shows it once."""
    form = context.form
    return await _create_key_once_and_redirect(
        context,
        public_id,
        lambda settings, workspace, by: settings.create_named_key_if_permitted(
            workspace, by, form.text("name"), parse_scopes_rejecting_unknown(form.all("scope"))
        ),
    )


async def rename_limit_or_revoke_key(context: PageContext, public_id: str, key_id: str) -> Response:
    """Rename, limit or revoke a named key."""
    form, key = context.form, parse_id_or_raise_not_found(key_id)

    async def change_named_key(settings: KeyManagement, workspace: Workspace, by: Member) -> None:
        match form.text("action"):
            case "rename":
                await settings.rename_active_named_key(workspace, by, key, form.text("name"))
            case "limit":
                await settings.set_named_key_limit_within_plan(
                    workspace, by, key, form.integer("rate_limit") or 1
                )
            case "revoke":
                await settings.revoke_active_named_key(workspace, by, key)
            case _:
                raise NotFound

    workspace, member = await context.require_workspace(public_id, Permission.MANAGE)
    try:
        await change_named_key(_key_settings(context), workspace, member)
    except BadRequest as refusal:
        return await _keys_page(context, workspace, member, refusal=refusal)
    done = "revoked" if form.text("action") == "revoke" else "saved"
    return context.redirect_to(f"/w/{workspace.public_id}/keys", done=done)


async def regenerate_agent_or_write_key(context: PageContext, public_id: str, kind: str) -> Response:
    """Replace the Agent key or the write key and lead to the page that shows the new one once."""
    kinds = {"agent": CredentialKind.AGENT, "write": CredentialKind.WRITE}
    if kind not in kinds:
        raise NotFound
    return await _create_key_once_and_redirect(
        context,
        public_id,
        lambda settings, workspace, by: settings.revoke_and_reissue_key(workspace, by, kinds[kind]),
    )


async def _create_key_once_and_redirect(
    context: PageContext, public_id: str, create_key: KeyCreation
) -> Response:
    """Run the creation unless the form was sent before, and redirect to the keys; a new key is shown there once."""
    workspace, member = await context.require_workspace(public_id, Permission.MANAGE)
    path = f"/w/{workspace.public_id}/keys"
    if not await is_first_submission(context):
        return context.redirect_to(path, done="repeated")
    try:
        created = await create_key(_key_settings(context), workspace, member)
    except BadRequest as refusal:
        return await _keys_page(context, workspace, member, refusal=refusal)
    return redirect_with_secret(context, path, ShownSecret(created.credential.name, created.secret))


async def _keys_page(
    context: PageContext,
    workspace: Workspace,
    member: Member,
    *,
    shown: ShownSecret | None = None,
    refusal: ApiError | None = None,
) -> Response:
    keys = await _key_settings(context).list_active_keys(workspace, member)
    return await context.render_page(
        "keys.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        keys=[(key, label_scopes(key.scopes)) for key in keys],
        may_limit=Permission.GRANT_WRITES in ROLE_PERMISSIONS[member.role],
        cap=BILLING_PLANS.get(workspace.plan, UNLIMITED_PLAN).max_key_rate_limit,
        grantable=label_scopes(GRANTABLE_KEY_SCOPES[member.role]),
        shown=shown,
    )


def _key_settings(context: PageContext) -> KeyManagement:
    return KeyManagement(context.store.credentials, context.clock)


PAGES: Final = (
    Page("GET /w/<public_id>/keys", list_keys),
    Page("POST /w/<public_id>/keys", create_key_once),
    Page("POST /w/<public_id>/keys/<key_id>", rename_limit_or_revoke_key),
    Page("POST /w/<public_id>/keys/<kind>/regenerate", regenerate_agent_or_write_key),
)
