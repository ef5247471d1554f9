"""Routes that browsers call without a secret key: `/batch`, `/container-scripts` and the tracking script."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from hosts.asgi import App, Receive, Scope, Send
from hosts.client_address import ClientAddressResolver
from hosts.ingest import tracker_script
from hosts.ingest.body import (
    BODY_TIMEOUT_SECONDS,
    ClientGone,
    UnknownEncoding,
    inflate_body,
    read_body_or_none_if_too_long,
)
from hosts.ingest.container_cache import ContainerCache
from hosts.ingest.error_answers import answer_timeout_or_log_server_error
from hosts.ingest.read_timeout import ReadTimeout
from hosts.ingest.responses import send_uncached_answer
from hosts.request_smuggling import send_malformed_request
from service_core.ingestion import cors, track
from service_core.ingestion.batch import (
    ORIGIN_NOT_ALLOWED,
    BatchEndpoint,
    BatchRequest,
    find_active_workspace_named_in_body,
)
from service_core.ingestion.models import RejectionReason
from service_core.ingestion.track import IngestResponse
from service_core.ingestion.validation import REJECTION_MESSAGES
from service_core.kernel.errors import ServiceUnavailable
from service_core.workspace.scripts.build_container import EMPTY_CONTAINER

PATHS: Final = frozenset({"/", "/batch", "/container-scripts", tracker_script.PATH})
_TOO_LARGE: Final = IngestResponse(413, {"error": REJECTION_MESSAGES[RejectionReason.TOO_LARGE]})
_NO_BODY: Final = IngestResponse(400, {"error": REJECTION_MESSAGES[RejectionReason.NO_BODY]})
_INVALID_JSON: Final = IngestResponse(400, {"error": REJECTION_MESSAGES[RejectionReason.INVALID_JSON]})


@dataclass(frozen=True, slots=True)
class BrowserRouteDependencies:
    """The dependencies of the browser routes."""

    batches: BatchEndpoint
    containers: ContainerCache
    addresses: ClientAddressResolver = field(default_factory=ClientAddressResolver)
    read_timeout: ReadTimeout = field(default_factory=lambda: ReadTimeout(BODY_TIMEOUT_SECONDS))


RouteHandler = Callable[[BrowserRouteDependencies, BatchRequest], Awaitable[IngestResponse]]


def create_browser_routes_app(dependencies: BrowserRouteDependencies) -> App:
    """Returns the ASGI application for an outer one that refuses ambiguous requests; other paths are 404."""

    async def serve_browser_routes(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        handler = _find_handler(scope["method"], scope["path"])
        if handler is not None:
            await _send_route_response_with_cors(dependencies, handler, scope, receive, send)
        elif scope["path"] == tracker_script.PATH:
            await tracker_script.send_tracker_script_with_etag_and_gzip(scope, send)
        else:
            await send_uncached_answer(send, track.UNKNOWN_PATH, track.ALLOW_ANY_ORIGIN)

    return serve_browser_routes


def _find_handler(method: str, path: str) -> RouteHandler | None:
    """Returns the handler of a path; the root of the host takes batches, too."""
    if path == "/" and method not in {"POST", "OPTIONS"}:
        return None
    return _HANDLERS.get(path)


async def _send_route_response_with_cors(
    dependencies: BrowserRouteDependencies, handler: RouteHandler, scope: Scope, receive: Receive, send: Send
) -> None:
    origin = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), None)
    if scope["method"] == "OPTIONS":
        await send_uncached_answer(send, IngestResponse(204, None), cors.preflight_headers(origin))
        return
    try:
        answer = await _run_handler_for_json_post(dependencies, handler, scope, receive, origin)
    except ClientGone:
        await send_malformed_request(scope, send)
        return
    except ServiceUnavailable as away:
        answer = IngestResponse(away.status, away.body(), {"retry-after": "5"})
    except Exception as fault:  # noqa: BLE001 - every fault has an answer
        answer = answer_timeout_or_log_server_error(fault)
    await send_uncached_answer(send, answer, cors.cors_headers(origin))


async def _run_handler_for_json_post(
    dependencies: BrowserRouteDependencies,
    handler: RouteHandler,
    scope: Scope,
    receive: Receive,
    origin: str | None,
) -> IngestResponse:
    if scope["method"] != "POST":
        return track.WRONG_METHOD
    headers = scope["headers"]
    sent = track.parse_ingest_headers(headers)
    with dependencies.read_timeout:
        body = await read_body_or_none_if_too_long(receive, track.MAX_BODY_BYTES, sent.content_length)
    peer = scope.get("client")
    client_ip = dependencies.addresses.resolve_nearest_untrusted(peer and peer[0], headers)
    try:
        document = _parse_json_object_or_error(
            inflate_body(body, sent.content_encoding, track.MAX_BODY_BYTES)
        )
    except UnknownEncoding:
        document = _parse_json_object_or_error(body)
        if handler is _accept_batch and not isinstance(document, IngestResponse):
            return await dependencies.batches.count_unsupported_encoding_and_answer(
                BatchRequest(document, sent, origin, client_ip)
            )
        return track.REJECTION_RESPONSES[RejectionReason.UNSUPPORTED_ENCODING].response
    if isinstance(document, IngestResponse):
        return document
    return await handler(dependencies, BatchRequest(document, sent, origin, client_ip))


def _parse_json_object_or_error(body: bytes | None) -> Mapping[str, Any] | IngestResponse:
    """Returns the JSON object of a body, whatever its content type: beacons send any."""
    if body is None:
        return _TOO_LARGE
    if not body or body.isspace():
        return _NO_BODY
    try:
        document = orjson.loads(body)
    except ValueError:
        return _INVALID_JSON
    return document if isinstance(document, dict) else _INVALID_JSON


async def _accept_batch(
    dependencies: BrowserRouteDependencies, batch_request: BatchRequest
) -> IngestResponse:
    return await dependencies.batches.check_and_enqueue_batch(batch_request)


async def _container_response_if_origin_allowed(
    dependencies: BrowserRouteDependencies, batch_request: BatchRequest
) -> IngestResponse:
    workspace = await find_active_workspace_named_in_body(
        dependencies.batches.workspaces, batch_request.document
    )
    if workspace is None:
        return IngestResponse(200, EMPTY_CONTAINER)
    if not cors.is_origin_listed_or_none_listed(batch_request.origin, workspace):
        return ORIGIN_NOT_ALLOWED
    return IngestResponse(200, await dependencies.containers.get_at_most_one_second_old(workspace.id))


_HANDLERS: Final[Mapping[str, RouteHandler]] = {
    "/": _accept_batch,
    "/batch": _accept_batch,
    "/container-scripts": _container_response_if_origin_allowed,
}
