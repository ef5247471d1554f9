"""The page on which a person decides a request for a key."""

from typing import Final

from quart import Response, request

from hosts.web.frame import Frame, Page
from hosts.web.wording import scope_lines
from service_core.access.requests.decide import Approvals
from service_core.kernel.errors import Conflict, Forbidden, Refusal


async def view(frame: Frame) -> Response:
    """Who asks, for which workspace, and for what exactly."""
    return await _shown(frame, request.args.get("request", ""))


async def decide(frame: Frame) -> Response:
    """Approve or deny, once."""
    token, approve = frame.form.text("request"), frame.form.text("decision") == "approve"
    try:
        await frame.part(Approvals).decide(
            token,
            frame.account.id,
            approve=approve,
            rate_limit=frame.form.number("rate_limit") if approve else None,
        )
    except (Conflict, Forbidden) as refusal:
        return await _shown(frame, token, refusal)
    return await _shown(frame, token)


async def _shown(frame: Frame, token: str, refusal: Refusal | None = None) -> Response:
    seen = await frame.part(Approvals).view_request(token, frame.account.id)
    lines = scope_lines(seen.request.scopes)
    return await frame.page("approve.html", refusal=refusal, seen=seen, lines=lines, token=token)


PAGES: Final = (Page("GET /approve", view), Page("POST /approve", decide))
