"""Routes, key and answers of PostHog's capture API."""

import json
from collections.abc import Sequence
from typing import Any, Final

from plugins.protocol_posthog.mapping import map_event
from service_core.plugin import (
    ProtocolEvent,
    ProtocolInfo,
    ProtocolOutcome,
    ProtocolRequest,
    ProtocolResponse,
    ProtocolRoute,
    RequestRefusal,
    UnreadableRequest,
    decode_base64_or_none,
    json_object,
    text_field,
)

PREFIX: Final = "/posthog"
"""The host of the libraries for Android and iOS is the ingest host with this path: ``/batch`` itself is Touchpoint's."""

_ROOT_PATHS: Final = ("/batch/", "/capture", "/capture/", "/e", "/e/", "/i/v0/e", "/i/v0/e/")
_PATHS: Final = (*_ROOT_PATHS, *(f"{PREFIX}{path}" for path in ("/batch", *_ROOT_PATHS)))
_JSON: Final = {"content-type": "application/json"}
_OK: Final = 200
_KEY_FIELDS: Final = ("api_key", "token")
_MAX_BODY_BYTES: Final = 5_000_000


class PostHogProtocol:
    """Takes single events and batches, as JSON, as a form, or compressed."""

    @property
    def info(self) -> ProtocolInfo:
        """Returns id, name, routes and limits."""
        methods = frozenset({"GET", "POST"})
        return ProtocolInfo(
            id="posthog",
            label="PostHog",
            homepage="https://posthog.com/docs/api/capture",
            routes=tuple(ProtocolRoute(path, methods) for path in _PATHS),
            max_body_bytes=_MAX_BODY_BYTES,
        )

    def find_key(self, request: ProtocolRequest) -> str | None:
        """Returns ``api_key`` or ``token`` of the body, of its first event, or of that event's properties."""
        document = _parse_document(request)
        events = _list_events(document)
        first = json_object(events[0] if events else None)
        sources = (json_object(document), first, json_object(first.get("properties")), request.query_fields)
        return next((key for source in sources if (key := text_field(source, *_KEY_FIELDS))), None)

    def read_events(self, request: ProtocolRequest) -> Sequence[ProtocolEvent]:
        """Returns one event for each of the body."""
        document = _parse_document(request)
        events = _list_events(document)
        if events is None:
            raise UnreadableRequest
        request.require_event_count(events)
        batch = json_object(document)
        sent_at = batch.get("sent_at") or batch.get("sentAt")
        return [map_event(json_object(event), sent_at, request.received_at) for event in events]

    def respond(self, _request: ProtocolRequest, outcome: ProtocolOutcome) -> ProtocolResponse:
        """Returns ``{"status": 1}``, or the vendor's error object; the libraries send again after 429 and 5xx."""
        if outcome.status == _OK:
            return ProtocolResponse(_OK, b'{"status": 1}', _JSON)
        reason = outcome.refusal or outcome.rejected[0][1]
        is_key = reason is RequestRefusal.UNKNOWN_KEY
        body = {
            "type": "authentication_error" if is_key else "validation_error",
            "code": "invalid_api_key" if is_key else reason.value,
            "detail": f"The request was refused: {reason.value}",
            "attr": None,
        }
        return ProtocolResponse(outcome.status, json.dumps(body).encode(), _JSON)


def _parse_document(request: ProtocolRequest) -> Any:
    """Returns the JSON value of the body, or of the form field ``data``, which may be base64."""
    body = request.body.lstrip()
    if body[:1] in {b"{", b"["}:
        return request.document
    fields = request.query_fields if not body else request.form_fields
    data = fields.get("data", body.decode("utf-8", "replace"))
    plain = data.lstrip()
    if plain[:1] not in {"{", "["}:
        return request.parse_json(decode_base64_or_none(data) or b"")
    return request.parse_json(data.encode("utf-8", "replace"))


def _list_events(document: Any) -> list[Any] | None:
    """Returns the events of a body: a list, an object with the list ``batch``, or one event; None for anything else."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return None
    batch = document.get("batch")
    if "batch" not in document:
        return [document]
    return batch if isinstance(batch, list) else None
