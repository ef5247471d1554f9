"""Routes that browsers call without a secret key: `/batch`, `/container-scripts` and the tracking script."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from hosts.asgi import App, Receive, Scope, Send
from hosts.client_address import ClientAddress
from hosts.ingest import tracker_script
from hosts.ingest.body import BODY_TIMEOUT_SECONDS, ClientGone, read_body
from hosts.ingest.container_cache import ContainerCache
from hosts.ingest.error_answers import answer_for_error
from hosts.ingest.read_timeout import ReadTimeout
from hosts.ingest.responses import send_answer
from hosts.request_smuggling import send_malformed_request
from service_core.ingestion import cors, track
from service_core.ingestion.batch import (
    ORIGIN_NOT_ALLOWED,
    BatchEndpoint,
    BatchRequest,
    find_public_workspace,
)
from service_core.ingestion.models import RejectionReason
from service_core.ingestion.track import IngestResponse, TrackHeaders
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
    addresses: ClientAddress = field(default_factory=ClientAddress)
    read_timeout: ReadTimeout = field(default_factory=lambda: ReadTimeout(BODY_TIMEOUT_SECONDS))


RouteHandler = Callable[[BrowserRouteDependencies, BatchRequest], Awaitable[IngestResponse]]


def create_browser_routes_app(dependencies: BrowserRouteDependencies) -> App:
    """Returns the ASGI application for an outer one that refuses ambiguous requests; other paths are 404."""

    async def serve_browser_routes(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        handler = _find_handler(scope["method"], scope["path"])
        if handler is not None:
            await _handle_request(dependencies, handler, scope, receive, send)
        elif scope["path"] == tracker_script.PATH:
            await tracker_script.send_tracker_script(scope, send)
        else:
            await send_answer(send, track.UNKNOWN_PATH, track.ALLOW_ANY_ORIGIN)

    return serve_browser_routes


def _find_handler(method: str, path: str) -> RouteHandler | None:
    """Returns the handler of a path; the root of the host takes batches, too."""
    if path == "/" and method not in {"POST", "OPTIONS"}:
        return None
    return _HANDLERS.get(path)


async def _handle_request(
    dependencies: BrowserRouteDependencies, handler: RouteHandler, scope: Scope, receive: Receive, send: Send
) -> None:
    origin = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), None)
    if scope["method"] == "OPTIONS":
        await send_answer(send, IngestResponse(204, None), cors.preflight_headers(origin))
        return
    try:
        answer = await _run_handler(dependencies, handler, scope, receive, origin)
    except ClientGone:
        await send_malformed_request(scope, send)
        return
    except ServiceUnavailable as away:
        answer = IngestResponse(away.status, away.body(), {"retry-after": "5"})
    except Exception as fault:  # noqa: BLE001 - every fault has an answer
        answer = answer_for_error(fault)
    await send_answer(send, answer, cors.cors_headers(origin))


async def _run_handler(
    dependencies: BrowserRouteDependencies,
    handler: RouteHandler,
    scope: Scope,
    receive: Receive,
    origin: str | None,
) -> IngestResponse:
    if scope["method"] != "POST":
        return track.WRONG_METHOD
    headers = scope["headers"]
    sent = track.parse_headers(headers)
    document = await _read_json_object(dependencies, receive, sent)
    if isinstance(document, IngestResponse):
        return document
    peer = scope.get("client")
    return await handler(
        dependencies,
        BatchRequest(document, sent, origin, dependencies.addresses.resolve(peer and peer[0], headers)),
    )


async def _read_json_object(
    dependencies: BrowserRouteDependencies, receive: Receive, sent: TrackHeaders
) -> Mapping[str, Any] | IngestResponse:
    """Returns the JSON object of a body, whatever its content type: beacons send any."""
    with dependencies.read_timeout:
        body = await read_body(receive, track.MAX_BODY_BYTES, sent.content_length)
    if body is None:
        return _TOO_LARGE
    if not body or body.isspace():
        return _NO_BODY
    try:
        document = orjson.loads(body)
    except ValueError:
        return _INVALID_JSON
    return document if isinstance(document, dict) else _INVALID_JSON


async def _accept_batch(dependencies: BrowserRouteDependencies, asked: BatchRequest) -> IngestResponse:
    return await dependencies.batches.handle(asked)


async def _get_container(dependencies: BrowserRouteDependencies, asked: BatchRequest) -> IngestResponse:
    workspace = await find_public_workspace(dependencies.batches.workspaces, asked.document)
    if workspace is None:
        return IngestResponse(200, EMPTY_CONTAINER)
    if not cors.is_origin_allowed(asked.origin, workspace):
        return ORIGIN_NOT_ALLOWED
    return IngestResponse(200, await dependencies.containers.get(workspace.id))


_HANDLERS: Final[Mapping[str, RouteHandler]] = {
    "/": _accept_batch,
    "/batch": _accept_batch,
    "/container-scripts": _get_container,
}
