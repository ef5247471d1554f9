"""The page on which a person decides a request for a key."""

from typing import Final

from quart import Response, request

from hosts.web.labels import label_scopes
from hosts.web.page_context import Page, PageContext
from service_core.access.key_requests.approvals import Approvals
from service_core.kernel.errors import ApiError, Conflict, Forbidden


async def show_key_request(context: PageContext) -> Response:
    """Who asks, for which workspace, and for what exactly."""
    return await _key_request_page(context, request.args.get("request", ""))


async def approve_or_deny_key_request(context: PageContext) -> Response:
    """Approve or deny, once."""
    token, approve = context.form.text("request"), context.form.text("decision") == "approve"
    try:
        await context.component(Approvals).decide_pending_request(
            token,
            context.signed_in_account.id,
            approve=approve,
            owner_chosen_rate_limit=context.form.integer("rate_limit") if approve else None,
        )
    except (Conflict, Forbidden) as refusal:
        return await _key_request_page(context, token, refusal)
    return await _key_request_page(context, token)


async def _key_request_page(context: PageContext, token: str, refusal: ApiError | None = None) -> Response:
    seen = await context.component(Approvals).view_request_as_member(token, context.signed_in_account.id)
    lines = label_scopes(seen.request.scopes)
    return await context.render_page("approve.html", refusal=refusal, seen=seen, lines=lines, token=token)


PAGES: Final = (Page("GET /approve", show_key_request), Page("POST /approve", approve_or_deny_key_request))
