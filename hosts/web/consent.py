"""The page on which a person lets a program in over OAuth."""

from typing import Final
from urllib.parse import parse_qsl, urlencode

from quart import Response, request

from hosts.web.forms import clean_pairs
from hosts.web.frame import Frame, Page
from hosts.web.wording import scope_lines
from service_core.access.members.model import Member
from service_core.access.model import Workspace
from service_core.access.oauth.consent import Asked, Consents
from service_core.access.oauth.model import OAuthFault, SentBack, host_of
from service_core.access.oauth.redirects import LOOPBACK, source_of


async def ask(frame: Frame) -> Response:
    """Which program asks for what; with several workspaces, first for which."""
    query = request.query_string.decode("ascii", "ignore")
    return await _with(frame, query, request.args.get("workspace", ""), None)


async def answer(frame: Frame) -> Response:
    """Carry the person's answer back to the program."""
    form = frame.form
    return await _with(frame, form.text("query"), form.text("workspace"), form.text("decision"))


async def _with(frame: Frame, query: str, public_id: str, decision: str | None) -> Response:
    account, consents = frame.account, frame.part(Consents)
    sent = clean_pairs(parse_qsl(query, keep_blank_values=True))
    pairs = [pair for pair in sent if pair[0] != "workspace"]
    try:
        asked = await consents.read(pairs)
        if decision == "deny":
            raise consents.refusal(asked.redirect_uri, asked.state, "access_denied", "The person said no")
        known = await frame.store.memberships(account.id)
        chosen = _chosen(known, public_id)
        if decision == "allow" and chosen is not None:
            return frame.away(await consents.approve(asked, chosen[1]))
    except OAuthFault as fault:
        return await frame.page("refusal.html", fault.status, message=fault.description, hint=None)
    except SentBack as back:
        return frame.away(back.url)
    return await _page(frame, asked, known, chosen, urlencode(pairs))


async def _page(
    frame: Frame,
    asked: Asked,
    known: list[tuple[Workspace, Member]],
    chosen: tuple[Workspace, Member] | None,
    query: str,
) -> Response:
    granted = frozenset() if chosen is None else asked.grantable(chosen[1])
    return await frame.page(
        "consent.html",
        form_target=source_of(asked.redirect_uri),
        client=asked.client,
        host=host_of(asked.redirect_uri),
        local=host_of(asked.redirect_uri) in LOOPBACK,
        known=known,
        chosen=chosen,
        lines=scope_lines(granted),
        left_out=scope_lines(asked.scopes - granted),
        query=query,
    )


def _chosen(known: list[tuple[Workspace, Member]], public_id: str) -> tuple[Workspace, Member] | None:
    """The workspace meant; without a choice to make, the only one."""
    if len(known) == 1 and not public_id:
        return known[0]
    return next((pair for pair in known if pair[0].public_id == public_id), None)


PAGES: Final = (Page("GET /consent", ask), Page("POST /consent", answer))
