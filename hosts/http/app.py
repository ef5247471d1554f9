"""The Quart application of the API host: web pages, and the API for every other path."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from http.client import NO_CONTENT
from typing import Final, cast
from urllib.parse import quote
from uuid import uuid4

from quart import Blueprint, Quart, Response, request
from werkzeug.exceptions import HTTPException, InternalServerError

from hosts.asgi import App
from hosts.client_address import ClientAddressResolver
from hosts.compression import compress_responses
from hosts.http.body_timeout import limit_body_time
from hosts.http.import_upload import serve_import_uploads
from hosts.request_smuggling import reject_ambiguous_requests
from service_core.api.dispatch import MAX_BODY_BYTES
from service_core.api.http_messages import ApiRequest
from service_core.api.http_messages import ApiResponse as Answer
from service_core.delivery.imports.upload import ImportUploads

Dispatch = Callable[[ApiRequest], Awaitable[Answer]]

BODY_TIMEOUT_SECONDS: Final = 20.0
"""How long a whole body may take. With the 10 seconds a header has, a request has 30."""
CHUNK_TIMEOUT_SECONDS: Final = 10.0
MAX_DRAINED_BYTES: Final = 16_000_000
"""Bytes read and dropped of a body that is too large: a client that still sends never reads the 413."""

_PATHS_WITH_ETAG: Final = frozenset({"/openapi.json", "/v1/metrics/catalog"})
_FOLDERS_WITH_ETAG: Final = ("/docs/", "/app/static/")
"""Paths whose answers change only with a release or a setting: they carry an ETag."""

_INTERNAL_ERROR_BODY: Final = b'{"error":"Internal server error","code":"internal_error","error_id":"%s"}'

_log = logging.getLogger("touchpoint.http")


def create_api_app(
    dispatch: Dispatch,
    *,
    addresses: ClientAddressResolver | None = None,
    pages: Iterable[Blueprint] = (),
    uploads: ImportUploads | None = None,
    app_url: str = "/app",
) -> App:
    """Returns the ASGI application, protected from request smuggling and slow bodies.

    Args:
        dispatch: answers one request of the API.
        addresses: finds the client behind trusted proxies.
        pages: blueprints of web pages; requests that no page answers go to ``dispatch``.
        uploads: stores the files of imports; None takes none.
        app_url: address of the web application.
    """
    app = create_unprotected_quart_app(dispatch, addresses or ClientAddressResolver(), pages)
    limited = limit_body_time(compress_responses(cast(App, app), has_etag=_has_etag), BODY_TIMEOUT_SECONDS)
    return reject_ambiguous_requests(
        limited if uploads is None else serve_import_uploads(limited, uploads, app_url)
    )


def create_unprotected_quart_app(
    dispatch: Dispatch, addresses: ClientAddressResolver, pages: Iterable[Blueprint] = ()
) -> Quart:
    """Returns the application without the protection from request smuggling."""
    app = Quart("touchpoint", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = None  # `dispatch` checks the size, after the credential
    for blueprint in pages:
        app.register_blueprint(blueprint)

    @app.before_request
    async def dispatch_unless_page() -> Response | None:
        """Answers every request that no page answers, for any method and path."""
        if request.routing_exception is None:
            return None
        try:
            body = await read_body_and_drain_excess()
        except TimeoutError:
            return body_timeout_response()
        return to_quart_response(await dispatch(_build_api_request(body, addresses)))

    @app.errorhandler(InternalServerError)
    async def log_and_answer_error_id(fault: InternalServerError) -> Response:
        """Answers an unexpected error with an id; the log has the error, and gets the id."""
        error_id = str(uuid4())
        _log.error(
            "request failed", extra={"error_id": error_id, "fault": type(fault.original_exception).__name__}
        )
        answer = _public_uncached_json_response(500, _INTERNAL_ERROR_BODY % error_id.encode())
        answer.headers["X-Error-Id"] = error_id
        return answer

    @app.errorhandler(HTTPException)
    async def answer_http_error_as_json(fault: HTTPException) -> Response:
        """Answers errors of the framework as JSON."""
        return _public_uncached_json_response(fault.code or 500, b'{"error":"%s"}' % fault.name.encode())

    return app


def _has_etag(path: str) -> bool:
    return path in _PATHS_WITH_ETAG or path.startswith(_FOLDERS_WITH_ETAG)


def _build_api_request(body: bytes, addresses: ClientAddressResolver) -> ApiRequest:
    scope = request.scope
    peer = scope.get("client")
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    return ApiRequest(
        method=request.method,
        path=raw.partition(b"?")[0].decode("latin-1"),
        query=scope["query_string"].decode("latin-1"),
        headers={name.lower(): value for name, value in request.headers.items()},
        body=body,
        client_ip=addresses.resolve_nearest_untrusted(peer and peer[0], scope["headers"]),
    )


async def read_body_and_drain_excess() -> bytes:
    """Reads the body up to one byte over the limit; the rest is read and dropped.

    Raises:
        TimeoutError: nothing came for 10 seconds.
    """
    body, size = bytearray(), 0
    chunks = aiter(request.body)
    while size <= MAX_DRAINED_BYTES:
        async with asyncio.timeout(CHUNK_TIMEOUT_SECONDS):
            chunk = await anext(chunks, None)
        if chunk is None:
            break
        body += chunk[: MAX_BODY_BYTES + 1 - len(body)]
        size += len(chunk)
    return bytes(body)


def to_quart_response(answer: Answer) -> Response:
    """Converts a response of the API to one of Quart."""
    response = Response(answer.body if answer.open_stream is None else answer.open_stream(), answer.status)
    response.headers.clear()
    if answer.open_stream is not None:
        response.timeout = None  # a large file to a slow client takes as long as it takes
    elif answer.status != NO_CONTENT:
        response.headers["Content-Length"] = str(len(answer.body))
    response.headers.update(answer.headers)
    return response


def body_timeout_response() -> Response:
    """Returns the response to a body that did not arrive in time."""
    return _public_uncached_json_response(408, b'{"error":"Request body took too long"}')


def _public_uncached_json_response(status: int, body: bytes) -> Response:
    headers = {
        "Content-Type": "application/json",
        "Access-Control-Allow-Origin": "*",
        "Cache-Control": "no-store",
    }
    if status == 408:  # noqa: PLR2004 - what still comes is no other request
        headers["Connection"] = "close"
    return Response(body, status, headers)
