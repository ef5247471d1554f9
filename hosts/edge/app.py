"""The link host as a raw ASGI application (contract 11.6): a slug comes in, a redirect goes out."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hosts.edge.recording import Recorder
from hosts.guard import App, Receive, Scope, Send, is_clear, refuse
from service_core.intake.track import KEPT_HEADERS
from service_core.kernel.clock import Clock
from service_core.workspace.links.clicks import Asked, Witness
from service_core.workspace.links.ports import EdgeMap
from service_core.workspace.links.route import Route

_log = logging.getLogger("touchpoint.edge")

_SLUG: Final = re.compile(r"/([A-Za-z0-9_-]{1,64})")

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
AWAY: Final = _page(503, "Please try again", "This link cannot be followed just now.", (b"retry-after", b"5"))


@dataclass(frozen=True, slots=True)
class LinkDoor:
    """What the link host stands on.

    Attributes:
        host: the link domain.
        client: finds the client's address.
        files: path -> content of the files that associate apps with the domain.
    """

    host: str
    routes: EdgeMap
    witness: Witness
    recorder: Recorder
    clock: Clock
    client: ClientOf
    files: Mapping[str, bytes] = field(default_factory=dict)


def edge_app(door: LinkDoor, others: App | None = None) -> App:
    """The ASGI application; it guards itself, see `hosts.guard`.

    Args:
        door: what it stands on.
        others: answers every request that names another host; without it they are not found.
    """

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        is_http = scope["type"] == "http"
        is_ours = is_http and _is_for(door.host, scope)
        if others is not None and not is_ours:
            await others(scope, receive, send)
        elif is_http and not is_clear(scope):
            await refuse(scope, send)
        elif is_http:
            answer = await _answered(door, scope) if is_ours else LOST
            await _reply(send, scope["method"], answer)

    return application


def _is_for(host: str, scope: Scope) -> bool:
    named = (
        next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1").lower()
    )
    return named == host or named.rpartition(":")[0] == host


async def _answered(door: LinkDoor, scope: Scope) -> Answer:
    if scope["method"] not in {"GET", "HEAD"}:
        return NOT_ASKED
    try:
        return await _answer(door, scope)
    except Exception:  # noqa: BLE001 - a person waits: every fault has a page
        _log.exception("redirect failed")
        return AWAY


async def _answer(door: LinkDoor, scope: Scope) -> Answer:
    path = scope["path"]
    if file := door.files.get(path):
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"max-age=3600")]
        return Answer(200, [*headers, (b"content-length", b"%d" % len(file))], file)
    slug = _SLUG.fullmatch(path)
    route = await door.routes.find(f"{door.host}/{slug[1]}") if slug else None
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
        click = door.witness.click(route, asked, door.clock())
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
