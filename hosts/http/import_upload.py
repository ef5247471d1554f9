"""Takes the files of imports, piece by piece: `PUT` by programs, a form of the web application by browsers.

It runs before the web framework, which would collect a body faster than a disk takes it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, File, MultipartDecoder, NeedData

from hosts.asgi import App, Receive, Scope, Send
from hosts.upload_paths import UPLOAD_PATH
from service_core.access.models import Workspace
from service_core.delivery.imports.models import ImportJob
from service_core.delivery.imports.upload import ImportUploads
from service_core.kernel.errors import ApiError, BadRequest

CHUNK_TIMEOUT_SECONDS: Final = 30.0
"""Longest silence within an upload; the whole may take as long as its link works."""

FILE_FIELD: Final = "file"
_MAX_FORM_BYTES: Final = 100_000
_MAX_PIECE_BYTES: Final = 50_000
"""The decoder refuses more than `_MAX_FORM_BYTES` at once, and keeps some of the piece before."""

_HEADERS: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))

_Body = AsyncIterator[bytes]


def serve_import_uploads(app: App, uploads: ImportUploads, app_url: str) -> App:
    """Returns ``app`` with uploads answered before it.

    Args:
        app: answers every other request.
        uploads: stores the files.
        app_url: address of the web application, where a form leads back to.
    """
    app_path = urlsplit(app_url).path.rstrip("/")

    async def serve_upload_or_app(scope: Scope, receive: Receive, send: Send) -> None:
        match = UPLOAD_PATH.fullmatch(scope["path"]) if scope["type"] == "http" else None
        method = "POST" if match and match[1] else "PUT"
        if match is None or scope["method"] != method:
            await app(scope, receive, send)
            return
        upload = _Upload(uploads, scope, receive, UUID(match[2]))
        if method == "PUT":
            await _send_json_result(upload, send)
        else:
            await _redirect_browser_to_import(upload, send, app_path)

    return serve_upload_or_app


class _Upload:
    """One request with a file."""

    def __init__(self, uploads: ImportUploads, scope: Scope, receive: Receive, import_id: UUID) -> None:
        self._uploads = uploads
        self._import_id = import_id
        self._body = _iterate_body_with_timeout(receive)
        self._query = parse_qs(scope["query_string"].decode("latin-1"))
        headers: dict[bytes, bytes] = dict(scope["headers"])
        self._content_type = headers.get(b"content-type", b"").decode("latin-1")

    async def authorize(self) -> tuple[ImportJob, Workspace]:
        """Returns the job of the link, and its workspace; nothing of the body is read before."""
        expires, signature = (self._query.get(name, [""])[-1] for name in ("expires", "sig"))
        return await self._uploads.require_valid_upload_link(self._import_id, expires, signature)

    async def store_body(self, job: ImportJob) -> ImportJob:
        """Stores the body as the file."""
        return await self._uploads.store_file(job, self._body)

    async def store_form_file(self, job: ImportJob) -> ImportJob:
        """Stores the file of a form."""
        kind, options = parse_options_header(self._content_type)
        if kind != "multipart/form-data" or "boundary" not in options:
            raise BadRequest("The form has no file", "invalid_parameter")
        return await self._uploads.store_file(
            job, _iterate_form_file(self._body, options["boundary"].encode())
        )


async def _send_json_result(upload: _Upload, send: Send) -> None:
    try:
        job, _ = await upload.authorize()
        stored = await upload.store_body(job)
    except ApiError as error:
        await _send_response(send, error.status, (b"connection", b"close"), json.dumps(error.body()).encode())
    else:
        body = json.dumps({"id": str(stored.id), "status": stored.status.value}).encode()
        await _send_response(send, 200, None, body)


async def _redirect_browser_to_import(upload: _Upload, send: Send, app_path: str) -> None:
    """Stores the file of a form, and redirects to the page of the import, which shows a problem in words."""
    back = f"{app_path}/"
    try:
        job, workspace = await upload.authorize()
        back = f"{app_path}/w/{workspace.public_id}/imports/{job.id}"
        await upload.store_form_file(job)
    except ApiError as error:
        back += f"?problem={error.code or 'upload_failed'}"
    await _send_response(send, 303, (b"location", back.encode()), b"")


async def _iterate_body_with_timeout(receive: Receive) -> _Body:
    """Yields the pieces of a body.

    Raises:
        BadRequest: the client has gone, or sends nothing for too long.
    """
    more = True
    while more:
        try:
            async with asyncio.timeout(CHUNK_TIMEOUT_SECONDS):
                message = await receive()
        except TimeoutError:
            raise BadRequest("The upload took too long", "invalid_parameter") from None
        if message["type"] != "http.request":
            raise BadRequest("The upload ended early", "invalid_parameter")
        more = message.get("more_body", False)
        if chunk := message.get("body", b""):
            yield chunk


async def _iterate_form_file(body: _Body, boundary: bytes) -> _Body:
    """Yields the pieces of the field `FILE_FIELD` of a form.

    Raises:
        BadRequest: the body is no form.
    """
    decoder, in_file = MultipartDecoder(boundary, _MAX_FORM_BYTES, max_parts=20), False
    async for chunk in body:
        for event in _decode_in_small_pieces(decoder, chunk):
            if isinstance(event, Data):
                if in_file and event.data:
                    yield bytes(event.data)
            else:
                in_file = isinstance(event, File) and event.name == FILE_FIELD


def _decode_in_small_pieces(decoder: MultipartDecoder, chunk: bytes) -> Iterator[object]:
    for start in range(0, len(chunk), _MAX_PIECE_BYTES):
        yield from _decode_multipart_chunk(decoder, chunk[start : start + _MAX_PIECE_BYTES])


def _decode_multipart_chunk(decoder: MultipartDecoder, chunk: bytes) -> list[object]:
    """Returns the parts of a form that a piece of its body completes."""
    next_event: Callable[[], object] = decoder.next_event
    events: list[object] = []
    try:
        decoder.receive_data(chunk)
        while not isinstance(event := next_event(), NeedData | Epilogue):
            events.append(event)
    except (ValueError, RequestEntityTooLarge):
        raise BadRequest("The form cannot be read", "invalid_parameter") from None
    return events


async def _send_response(send: Send, status: int, header: tuple[bytes, bytes] | None, body: bytes) -> None:
    headers = [*_HEADERS, (b"content-length", b"%d" % len(body)), *([header] if header else [])]
    if body:
        headers.append((b"content-type", b"application/json"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
