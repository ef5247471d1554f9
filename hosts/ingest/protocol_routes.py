"""Routes of ingest protocols as an ASGI application; `ingestion.protocols` decides."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import orjson

from hosts.asgi import App, Receive, Scope, Send
from hosts.client_address import ClientAddressResolver
from hosts.ingest.body import (
    BODY_TIMEOUT_SECONDS,
    ClientGone,
    UnknownEncoding,
    inflate_body,
    read_body_or_none_if_too_long,
)
from hosts.ingest.error_answers import answer_timeout_or_log_server_error
from hosts.ingest.read_timeout import ReadTimeout
from hosts.ingest.responses import send_uncached_answer
from hosts.request_smuggling import send_malformed_request
from service_core.ingestion import cors, track
from service_core.ingestion.protocols.endpoint import ClientContext, ProtocolEndpoint
from service_core.ingestion.protocols.models import ProtocolRequest, ProtocolResponse, RequestRefusal
from service_core.ingestion.protocols.routes import InstalledRoute
from service_core.ingestion.track import IngestResponse
from service_core.kernel.clock import Clock
from service_core.kernel.errors import ServiceUnavailable

_GZIP_MAGIC: Final = b"\x1f\x8b"
_HEADER_NAMES: Final = re.compile(r"[A-Za-z0-9-]{1,64}(?:, ?[A-Za-z0-9-]{1,64}){0,31}")


@dataclass(frozen=True, slots=True)
class ProtocolRouteDependencies:
    """The dependencies of the routes of ingest protocols."""

    routes: Mapping[str, InstalledRoute]
    endpoint: ProtocolEndpoint
    clock: Clock
    addresses: ClientAddressResolver = field(default_factory=ClientAddressResolver)
    read_timeout: ReadTimeout = field(default_factory=lambda: ReadTimeout(BODY_TIMEOUT_SECONDS))


def create_protocol_app(dependencies: ProtocolRouteDependencies, fallback_app: App) -> App:
    """Returns the ASGI application; an outer one refuses ambiguous requests.

    Args:
        dependencies: the routes and what handles them.
        fallback_app: answers every other path.
    """
    find_route: Callable[[str], InstalledRoute | None] = dependencies.routes.get

    async def serve_protocol_or_fall_back(scope: Scope, receive: Receive, send: Send) -> None:
        route = find_route(scope["path"]) if scope["type"] == "http" else None
        if route is None:
            await fallback_app(scope, receive, send)
        else:
            await _send_protocol_response(dependencies, route, scope, receive, send)

    return serve_protocol_or_fall_back


async def _send_protocol_response(
    dependencies: ProtocolRouteDependencies, route: InstalledRoute, scope: Scope, receive: Receive, send: Send
) -> None:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    origin = headers.get("origin")
    if scope["method"] == "OPTIONS":
        await send_uncached_answer(send, IngestResponse(204, None), _preflight_headers(route, headers))
        return
    if scope["method"] not in route.methods:
        allow = {"allow": ", ".join(sorted({*route.methods, "OPTIONS"}))}
        answer = IngestResponse(405, track.WRONG_METHOD.body, allow)
        await send_uncached_answer(send, answer, cors.cors_headers(origin))
        return
    try:
        response = await _read_and_handle_request(dependencies, route, scope, receive, headers)
    except ClientGone:
        await send_malformed_request(scope, send)
    except ServiceUnavailable as fault:
        answer = IngestResponse(fault.status, fault.body(), {"retry-after": "5"})
        await send_uncached_answer(send, answer, cors.cors_headers(origin))
    except Exception as fault:  # noqa: BLE001 - every fault has an answer
        await send_uncached_answer(send, answer_timeout_or_log_server_error(fault), cors.cors_headers(origin))
    else:
        await _send_raw_response(send, response, origin)


async def _read_and_handle_request(
    dependencies: ProtocolRouteDependencies,
    route: InstalledRoute,
    scope: Scope,
    receive: Receive,
    headers: Mapping[str, str],
) -> ProtocolResponse:
    raw_headers = scope["headers"]
    sent = track.parse_ingest_headers(raw_headers)
    limit = route.protocol.info.max_body_bytes
    with dependencies.read_timeout:
        body = await read_body_or_none_if_too_long(receive, limit, sent.content_length)
    inflated, refusal = _inflate_or_refuse(body, sent.content_encoding, limit)
    peer = scope.get("client")
    client = ClientContext(
        sent.user_agent,
        dependencies.addresses.resolve_nearest_untrusted(peer and peer[0], raw_headers),
        _page_origin(headers),
        sent.stored_headers,
    )
    request = _build_request(scope, headers, inflated, dependencies.clock())
    return await dependencies.endpoint.check_and_enqueue_events(route.protocol, request, client, refusal)


def _page_origin(headers: Mapping[str, str]) -> str | None:
    """Returns ``Origin``, or else the origin of ``Referer``: browsers send no ``Origin`` when they request an image."""
    if "origin" in headers:
        return headers["origin"]
    scheme, separator, rest = headers.get("referer", "").partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if separator else None


def _build_request(
    scope: Scope, headers: Mapping[str, str], body: bytes, received_at: datetime
) -> ProtocolRequest:
    query = scope.get("query_string", b"").decode("latin-1")
    return ProtocolRequest(scope["method"], scope["path"], query, headers, body, received_at, orjson.loads)


def _inflate_or_refuse(
    body: bytes | None, encoding: str | None, max_bytes: int
) -> tuple[bytes, RequestRefusal | None]:
    """Returns the body without compression, and why it is refused; clients may compress without saying so."""
    if body is not None and encoding in {None, ""} and body.startswith(_GZIP_MAGIC):
        encoding = "gzip"
    try:
        inflated = inflate_body(body, encoding, max_bytes)
    except UnknownEncoding:
        return body or b"", RequestRefusal.UNSUPPORTED_ENCODING
    return (b"", RequestRefusal.TOO_LARGE) if inflated is None else (inflated, None)


def _preflight_headers(route: InstalledRoute, headers: Mapping[str, str]) -> Mapping[str, str]:
    """Returns the headers of the answer to ``OPTIONS``: the requested headers are allowed, as vendors' clients name many."""
    requested = headers.get("access-control-request-headers", "")
    allowed = requested if _HEADER_NAMES.fullmatch(requested) else cors.ALLOWED_HEADERS
    return {
        **cors.preflight_headers(headers.get("origin")),
        "access-control-allow-methods": ", ".join(sorted({*route.methods, "OPTIONS"})),
        "access-control-allow-headers": allowed,
    }


async def _send_raw_response(send: Send, response: ProtocolResponse, origin: str | None) -> None:
    written = {
        **cors.cors_headers(origin),
        **response.headers,
        "cache-control": "no-store",
        "content-length": str(len(response.body)),
    }
    if response.status == 204:  # noqa: PLR2004 - no content, and so no length
        del written["content-length"]
    raw = [(name.encode(), value.encode("latin-1")) for name, value in written.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": raw})
    await send({"type": "http.response.body", "body": response.body})
