"""The page on which a person decides a request for a key."""

from typing import Final

from quart import Response, request

from hosts.web.labels import label_scopes
from hosts.web.page_context import Page, PageContext
from service_core.access.key_requests.approvals import Approvals
from service_core.kernel.errors import ApiError, Conflict, Forbidden


async def show_key_request(frame: PageContext) -> Response:
    """Who asks, for which workspace, and for what exactly."""
    return await _key_request_page(frame, request.args.get("request", ""))


async def decide_key_request(frame: PageContext) -> Response:
    """Approve or deny, once."""
    token, approve = frame.form.text("request"), frame.form.text("decision") == "approve"
    try:
        await frame.component(Approvals).decide_request(
            token,
            frame.account.id,
            approve=approve,
            rate_limit=frame.form.integer("rate_limit") if approve else None,
        )
    except (Conflict, Forbidden) as refusal:
        return await _key_request_page(frame, token, refusal)
    return await _key_request_page(frame, token)


async def _key_request_page(frame: PageContext, token: str, refusal: ApiError | None = None) -> Response:
    seen = await frame.component(Approvals).view_request(token, frame.account.id)
    lines = label_scopes(seen.request.scopes)
    return await frame.render_page("approve.html", refusal=refusal, seen=seen, lines=lines, token=token)


PAGES: Final = (Page("GET /approve", show_key_request), Page("POST /approve", decide_key_request))
