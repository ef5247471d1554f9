"""The link host as a raw ASGI application (contract 11.6): a slug comes in, a redirect goes out.

A domain has an id that follows from its name, and a link holds its slug under that id. So a redirect
is one look-up whichever domain it is on, and only what leads nowhere asks whose host it is.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hosts.edge.recording import Recorder
from hosts.guard import App, Receive, Scope, Send, is_clear, refuse
from service_core.intake.track import KEPT_HEADERS
from service_core.kernel.clock import Clock
from service_core.workspace.addresses import RESERVED
from service_core.workspace.links.clicks import Asked, ClickEnricher
from service_core.workspace.links.ports import EdgeMap
from service_core.workspace.links.route import Route
from service_core.workspace.links.tagging import pairs_of

_log = logging.getLogger("touchpoint.edge")

_SLUG: Final = re.compile(r"/([A-Za-z0-9_-]{1,64})")
_HOST: Final = re.compile(r"[a-z0-9.-]{1,253}")

KNOWN: Final = "/.well-known/touchpoint-domain"
"""Where a proxy asks, with ``?domain=``, whether it may get a certificate for a host."""

Headers = list[tuple[bytes, bytes]]
ClientOf = Callable[[str | None, Iterable[tuple[bytes, bytes]]], str | None]
"""Address of the connection and headers of the request -> address of the client."""

_PAGE: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    '<meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width">'
    "</head><body><h1>{title}</h1><p>{text}</p></body></html>\n"
)
_PAGE_HEADERS: Final = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
)
_REDIRECT_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer-when-downgrade"),
    (b"content-length", b"0"),
)


class Answer(NamedTuple):
    """What goes back."""

    status: int
    headers: Headers
    body: bytes = b""


def _page(status: int, title: str, text: str, *headers: tuple[bytes, bytes]) -> Answer:
    body = _PAGE.format(title=title, text=text).encode()
    return Answer(status, [*_PAGE_HEADERS, (b"content-length", b"%d" % len(body)), *headers], body)


LOST: Final = _page(404, "Link not found", "This link does not exist, or does not exist any more.")
NOT_ASKED: Final = _page(405, "Not possible here", "A link can only be followed.", (b"allow", b"GET, HEAD"))
FOUND: Final = _page(200, "Link domain", "Links are followed here.")
UNKNOWN: Final = _page(404, "Not a link domain", "No links are followed here.")
AWAY: Final = _page(503, "Please try again", "This link cannot be followed just now.", (b"retry-after", b"5"))


@dataclass(frozen=True, slots=True)
class LinkDoor:
    """What the link host stands on.

    Attributes:
        host: the link domain of the deployment.
        claimed: whether a workspace has proved a host as a link domain of its own.
        client: finds the client's address.
        files: path -> content of the files that associate apps with the link domain of the deployment.
    """

    host: str
    claimed: Callable[[str], Awaitable[bool]]
    routes: EdgeMap
    enricher: ClickEnricher
    recorder: Recorder
    clock: Clock
    client: ClientOf
    files: Mapping[str, bytes] = field(default_factory=dict)


def edge_app(door: LinkDoor, others: App | None = None) -> App:
    """The ASGI application; it guards itself, see `hosts.guard`.

    Args:
        door: what it stands on.
        others: answers every request that names no link domain; without it they are not found.
    """

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        is_http = scope["type"] == "http"
        if is_http and not is_clear(scope):
            await refuse(scope, send)
            return
        answer = await _answered(door, scope, mounted=others is not None) if is_http else None
        if answer is not None:
            await _reply(send, scope["method"], answer)
        elif others is not None:
            await others(scope, receive, send)

    return application


async def _answered(door: LinkDoor, scope: Scope, *, mounted: bool) -> Answer | None:
    """The answer; None for a request of a mounted door that names no link domain."""
    host, path, reads = _host(scope), scope["path"], scope["method"] in {"GET", "HEAD"}
    foreign = mounted and host != door.host
    if foreign and path != KNOWN and not (reads and _may_be_link(host, path)):
        return None
    if not reads:
        return NOT_ASKED
    try:
        answer = await (_known(door, scope) if path == KNOWN else _answer(door, scope, host))
        return None if answer is LOST and foreign and not await door.claimed(host) else answer
    except Exception:  # noqa: BLE001 - a person waits: every fault has a page
        _log.exception("redirect failed")
        return AWAY


def _host(scope: Scope) -> str:
    """The host a request names, without a port; empty for what no host is written like."""
    named = next((value for name, value in scope["headers"] if name == b"host"), b"")
    host = named.decode("latin-1").lower().partition(":")[0].removesuffix(".")
    return host if _HOST.fullmatch(host) else ""


def _may_be_link(host: str, path: str) -> bool:
    """Whether a link domain could answer: no slug is a name the deployment keeps for itself."""
    return host != "" and path.removeprefix("/").partition("/")[0].lower() not in RESERVED


async def _known(door: LinkDoor, scope: Scope) -> Answer:
    """200 for a link domain, so that a proxy gets certificates for those and for no other."""
    asked = dict(pairs_of(scope["query_string"].decode("latin-1"))).get("domain", "").lower()
    is_ours = asked == door.host or (_HOST.fullmatch(asked) is not None and await door.claimed(asked))
    return FOUND if is_ours else UNKNOWN


async def _answer(door: LinkDoor, scope: Scope, host: str) -> Answer:
    path = scope["path"]
    if host == door.host and (file := door.files.get(path)):
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"max-age=3600")]
        return Answer(200, [*headers, (b"content-length", b"%d" % len(file))], file)
    slug = _SLUG.fullmatch(path)
    route = await door.routes.find(f"{host}/{slug[1]}") if slug and host else None
    if route is None:
        return LOST
    asked = _asked(door, scope)
    if scope["method"] == "GET":
        await _record(door, route, asked)
    location = route.location(asked.query, asked.user_agent).encode("ascii")
    return Answer(302, [(b"location", location), *_REDIRECT_HEADERS])


async def _record(door: LinkDoor, route: Route, asked: Asked) -> None:
    """Record a click; whatever it holds, the redirect goes on."""
    try:
        click = door.enricher.click(route, asked, door.clock())
    except Exception:  # noqa: BLE001 - counting never stops a redirect
        _log.exception("a click could not be read")
    else:
        await door.recorder.record(click)


def _asked(door: LinkDoor, scope: Scope) -> Asked:
    sent = {name: value.decode("latin-1") for name, value in scope["headers"]}
    peer = scope.get("client")
    return Asked(
        query=scope["query_string"].decode("latin-1"),
        user_agent=sent.get(b"user-agent"),
        address=door.client(peer and peer[0], scope["headers"]),
        referrer=sent.get(b"referer"),
        headers={name.decode("ascii"): sent[name] for name in KEPT_HEADERS & sent.keys()},
    )


async def _reply(send: Send, method: str, answer: Answer) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})
