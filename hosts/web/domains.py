"""Settings: the hosts that links of a workspace redirect from."""

from typing import Final

from quart import Response

from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from service_core.access.members.models import Member
from service_core.access.models import Workspace
from service_core.access.roles import Permission
from service_core.changes.change_executor import ChangeExecutor
from service_core.kernel.errors import (
    ApiError,
    Conflict,
    NotFound,
    ServiceUnavailable,
    TooManyRequests,
    Unprocessable,
)
from service_core.workspace.links.domains.models import MISSING_RECORD_GRACE, LinkDomainClaim
from service_core.workspace.links.domains.verification import (
    plan_domain_claim,
    plan_removal_of_unused_domain,
    verify_domain,
)
from service_core.workspace.links.models import shared_link_domain


async def list_domains(context: PageContext, public_id: str) -> Response:
    """Every domain, with what is left to do for it."""
    workspace, member = await context.require_workspace(public_id, Permission.MANAGE)
    return await _domains_page(context, workspace, member)


async def claim_domain(context: PageContext, public_id: str) -> Response:
    """Claim a host."""
    workspace, member = await context.require_workspace(public_id, Permission.MANAGE)
    caller, shared = context.caller(workspace, member), shared_link_domain(context.service.settings)
    try:
        await context.component(ChangeExecutor).preview_or_apply_change(
            caller, plan_domain_claim(caller, context.form.text("host"), shared), dry_run=False
        )
    except (Conflict, Unprocessable) as refusal:
        return await _domains_page(context, workspace, member, refusal)
    return context.redirect_to(f"/w/{public_id}/domains", done="claimed")


async def verify_or_remove_domain(context: PageContext, public_id: str, claim_id: str) -> Response:
    """Look for the proof of a claim, or let a domain go."""
    workspace, member = await context.require_workspace(public_id, Permission.MANAGE)
    caller, change_executor, action = (
        context.caller(workspace, member),
        context.component(ChangeExecutor),
        context.form.text("action"),
    )
    try:
        match action:
            case "verify":
                ports = context.service.ports
                await verify_domain(
                    caller, parse_id_or_raise_not_found(claim_id), change_executor, ports.dns, ports.limits
                )
            case "remove":
                await change_executor.preview_or_apply_change(
                    caller,
                    plan_removal_of_unused_domain(parse_id_or_raise_not_found(claim_id)),
                    dry_run=False,
                )
            case _:
                raise NotFound
    except (Conflict, TooManyRequests, Unprocessable, ServiceUnavailable) as refusal:
        return await _domains_page(context, workspace, member, refusal)
    return context.redirect_to(f"/w/{public_id}/domains", done="verified" if action == "verify" else "let-go")


async def _domains_page(
    context: PageContext, workspace: Workspace, member: Member, refusal: ApiError | None = None
) -> Response:
    async with context.component(ChangeExecutor).transactions.read(workspace.id) as unit:
        claims = await unit.resources.list_all(LinkDomainClaim)
    return await context.render_page(
        "domains.html",
        refusal=refusal,
        workspace=workspace,
        member=member,
        shared=shared_link_domain(context.service.settings),
        claims=sorted(claims, key=lambda claim: claim.name),
        grace=MISSING_RECORD_GRACE,
    )


PAGES: Final = (
    Page("GET /w/<public_id>/domains", list_domains),
    Page("POST /w/<public_id>/domains", claim_domain),
    Page("POST /w/<public_id>/domains/<claim_id>", verify_or_remove_domain),
)
