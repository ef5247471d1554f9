"""The link host as an ASGI application: it redirects the slug of a trackable link.

A domain has an id that follows from its name, and a link holds its slug under that id. So a redirect
is one look-up whichever domain it is on, and only what leads nowhere asks whose host it is.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hosts.asgi import App, Receive, Scope, Send
from hosts.edge.click_writer import ClickWriter
from hosts.request_smuggling import is_unambiguous_request, send_malformed_request
from service_core.ingestion.track import STORED_HEADERS
from service_core.kernel.clock import Clock
from service_core.workspace.links.clicks import ClickEnricher, ClickRequest
from service_core.workspace.links.link_url import parse_query
from service_core.workspace.links.models import PATH_LINK_DOMAIN, PATH_LINK_PREFIX
from service_core.workspace.links.ports import RedirectLookup
from service_core.workspace.links.redirect import Redirect
from service_core.workspace.url_rules import RESERVED_SLUGS

_log = logging.getLogger("touchpoint.edge")

_SLUG_PATH: Final = re.compile(r"/([A-Za-z0-9_-]{1,64})")
_PATH_LINK: Final = re.compile(re.escape(PATH_LINK_PREFIX) + r"([A-Za-z0-9_-]{1,64})")
_HOST_NAME: Final = re.compile(r"[a-z0-9.-]{1,253}")

DOMAIN_CHECK_PATH: Final = "/.well-known/touchpoint-domain"
"""Path at which a proxy asks, with ``?domain=``, whether it may request a certificate for a host."""

Headers = list[tuple[bytes, bytes]]
ResolveClientAddress = Callable[[str | None, Iterable[tuple[bytes, bytes]]], str | None]
"""Address of the connection and headers of the request -> address of the client."""

_PAGE_TEMPLATE: Final = (
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


class EdgeResponse(NamedTuple):
    """A response of the link host."""

    status: int
    headers: Headers
    body: bytes = b""


def _html_response(status: int, title: str, text: str, *headers: tuple[bytes, bytes]) -> EdgeResponse:
    body = _PAGE_TEMPLATE.format(title=title, text=text).encode()
    return EdgeResponse(status, [*_PAGE_HEADERS, (b"content-length", b"%d" % len(body)), *headers], body)


NOT_FOUND_PAGE: Final = _html_response(
    404, "Link not found", "This link does not exist, or does not exist any more."
)
METHOD_NOT_ALLOWED_PAGE: Final = _html_response(
    405, "Not possible here", "A link can only be followed.", (b"allow", b"GET, HEAD")
)
KNOWN_DOMAIN_PAGE: Final = _html_response(200, "Link domain", "Links are followed here.")
UNKNOWN_DOMAIN_PAGE: Final = _html_response(404, "Not a link domain", "No links are followed here.")
UNAVAILABLE_PAGE: Final = _html_response(
    503, "Please try again", "This link cannot be followed just now.", (b"retry-after", b"5")
)


@dataclass(frozen=True, slots=True)
class RedirectDependencies:
    """The dependencies of the link host.

    Attributes:
        host: the link domain of the deployment; None without one, where links redirect under a path alone.
        is_link_domain: whether a workspace has proved a host as a link domain of its own.
        resolve_client_address: finds the client's address.
        association_files: path -> content of the files that associate apps with the link domain of the deployment.
    """

    host: str | None
    is_link_domain: Callable[[str], Awaitable[bool]]
    routes: RedirectLookup
    enricher: ClickEnricher
    click_writer: ClickWriter
    clock: Clock
    resolve_client_address: ResolveClientAddress
    association_files: Mapping[str, bytes] = field(default_factory=dict)


def create_edge_app(dependencies: RedirectDependencies, fallback_app: App | None = None) -> App:
    """The ASGI application; it rejects ambiguous requests itself, see `hosts.request_smuggling`.

    Args:
        dependencies: the stores and settings it uses.
        fallback_app: answers every request that names no link domain and no path of a link; without it they are not found.
    """

    async def serve_redirects_or_fall_back(scope: Scope, receive: Receive, send: Send) -> None:
        is_http = scope["type"] == "http"
        if is_http and not is_unambiguous_request(scope):
            await send_malformed_request(scope, send)
            return
        answer = (
            await _respond_or_none_for_foreign_host(
                dependencies, scope, has_fallback_app=fallback_app is not None
            )
            if is_http
            else None
        )
        if answer is not None:
            await _send_response(send, scope["method"], answer)
        elif fallback_app is not None:
            await fallback_app(scope, receive, send)

    return serve_redirects_or_fall_back


async def _respond_or_none_for_foreign_host(
    dependencies: RedirectDependencies, scope: Scope, *, has_fallback_app: bool
) -> EdgeResponse | None:
    """Returns the response; None when the host is no link domain and the fallback application has to answer."""
    host, path, reads = _requested_host(scope), scope["path"], scope["method"] in {"GET", "HEAD"}
    if path.startswith(PATH_LINK_PREFIX):
        return await _respond_to_path_link(dependencies, scope)
    if dependencies.host is None:
        return None if has_fallback_app else NOT_FOUND_PAGE
    foreign = has_fallback_app and host != dependencies.host
    if foreign and path != DOMAIN_CHECK_PATH and not (reads and _is_possible_link(host, path)):
        return None
    if not reads:
        return METHOD_NOT_ALLOWED_PAGE
    try:
        answer = await (
            _answer_whether_link_domain(dependencies, scope)
            if path == DOMAIN_CHECK_PATH
            else _redirect_or_serve_association_file(dependencies, scope, host)
        )
        return (
            None
            if answer is NOT_FOUND_PAGE and foreign and not await dependencies.is_link_domain(host)
            else answer
        )
    except Exception:  # noqa: BLE001 - a person waits: every fault has a page
        _log.exception("redirect failed")
        return UNAVAILABLE_PAGE


async def _respond_to_path_link(dependencies: RedirectDependencies, scope: Scope) -> EdgeResponse:
    """Redirects a link that was made while the deployment had no link domain; the path stays valid later."""
    if scope["method"] not in {"GET", "HEAD"}:
        return METHOD_NOT_ALLOWED_PAGE
    slug = _PATH_LINK.fullmatch(scope["path"])
    try:
        route = await dependencies.routes.find(f"{PATH_LINK_DOMAIN.host}/{slug[1]}") if slug else None
        return (
            NOT_FOUND_PAGE if route is None else await _redirect_and_record_click(dependencies, scope, route)
        )
    except Exception:  # noqa: BLE001 - a person waits: every fault has a page
        _log.exception("redirect failed")
        return UNAVAILABLE_PAGE


def _requested_host(scope: Scope) -> str:
    """Returns the requested host without a port; empty when it is malformed."""
    named = next((value for name, value in scope["headers"] if name == b"host"), b"")
    host = named.decode("latin-1").lower().partition(":")[0].removesuffix(".")
    return host if _HOST_NAME.fullmatch(host) else ""


def _is_possible_link(host: str, path: str) -> bool:
    """Returns whether a host and path can be those of a link: no slug is a name of the deployment's own."""
    return host != "" and path.removeprefix("/").partition("/")[0].lower() not in RESERVED_SLUGS


async def _answer_whether_link_domain(dependencies: RedirectDependencies, scope: Scope) -> EdgeResponse:
    """Answers 200 for a link domain, so that a proxy requests certificates for those alone."""
    domain = dict(parse_query(scope["query_string"].decode("latin-1"))).get("domain", "").lower()
    is_ours = domain == dependencies.host or (
        _HOST_NAME.fullmatch(domain) is not None and await dependencies.is_link_domain(domain)
    )
    return KNOWN_DOMAIN_PAGE if is_ours else UNKNOWN_DOMAIN_PAGE


async def _redirect_or_serve_association_file(
    dependencies: RedirectDependencies, scope: Scope, host: str
) -> EdgeResponse:
    path = scope["path"]
    if host == dependencies.host and (file := dependencies.association_files.get(path)):
        headers = [(b"content-type", b"application/json"), (b"cache-control", b"max-age=3600")]
        return EdgeResponse(200, [*headers, (b"content-length", b"%d" % len(file))], file)
    slug = _SLUG_PATH.fullmatch(path)
    route = await _find_redirect_on_host(dependencies, host, slug[1]) if slug and host else None
    return NOT_FOUND_PAGE if route is None else await _redirect_and_record_click(dependencies, scope, route)


async def _find_redirect_on_host(dependencies: RedirectDependencies, host: str, slug: str) -> Redirect | None:
    """Returns the redirect of a slug; the link domain of the deployment has those of links made before it, too."""
    route = await dependencies.routes.find(f"{host}/{slug}")
    if route is None and host == dependencies.host:
        return await dependencies.routes.find(f"{PATH_LINK_DOMAIN.host}/{slug}")
    return route


async def _redirect_and_record_click(
    dependencies: RedirectDependencies, scope: Scope, route: Redirect
) -> EdgeResponse:
    """Returns the response to a followed link; a ``GET`` is recorded as a click."""
    click_request = _read_click_request(dependencies, scope)
    if scope["method"] == "GET":
        await _record_click_or_log_failure(dependencies, route, click_request)
    location = route.target_url(click_request.query, click_request.user_agent).encode("ascii")
    return EdgeResponse(302, [(b"location", location), *_REDIRECT_HEADERS])


async def _record_click_or_log_failure(
    dependencies: RedirectDependencies, route: Redirect, click_request: ClickRequest
) -> None:
    """Records a click; an error is logged and does not stop the redirect."""
    try:
        # In a thread: the parser of user agents loads its patterns at the first click.
        click = await asyncio.to_thread(
            dependencies.enricher.build_click, route, click_request, dependencies.clock()
        )
    except Exception:  # noqa: BLE001 - counting never stops a redirect
        _log.exception("a click could not be read")
    else:
        await dependencies.click_writer.submit_unless_full_and_wait_briefly(click)


def _read_click_request(dependencies: RedirectDependencies, scope: Scope) -> ClickRequest:
    sent = {name: value.decode("latin-1") for name, value in scope["headers"]}
    peer = scope.get("client")
    return ClickRequest(
        query=scope["query_string"].decode("latin-1"),
        user_agent=sent.get(b"user-agent"),
        address=dependencies.resolve_client_address(peer and peer[0], scope["headers"]),
        referrer=sent.get(b"referer"),
        headers={name.decode("ascii"): sent[name] for name in STORED_HEADERS & sent.keys()},
    )


async def _send_response(send: Send, method: str, answer: EdgeResponse) -> None:
    await send({"type": "http.response.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})
