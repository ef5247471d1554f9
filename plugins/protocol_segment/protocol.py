"""Routes, key and answers of Segment's HTTP API."""

import json
from collections.abc import Sequence
from typing import Any, Final

from plugins.protocol_segment.mapping import map_call
from service_core.plugin import (
    ProtocolEvent,
    ProtocolInfo,
    ProtocolOutcome,
    ProtocolRequest,
    ProtocolResponse,
    ProtocolRoute,
    UnreadableRequest,
    json_object,
    text_field,
)

_CALL_NAMES: Final = ("track", "identify", "page", "screen", "group", "alias")
_CALL_TYPES: Final = {path: name for name in _CALL_NAMES for path in (name, name[0])}
_BATCH_PATHS: Final = ("/v1/batch", "/v1/b", "/v1/import")


class SegmentProtocol:
    """Takes the calls of Segment's libraries, alone or in batches."""

    @property
    def info(self) -> ProtocolInfo:
        """Returns id, name, routes and limits."""
        paths = (*_BATCH_PATHS, *(f"/v1/{name}" for name in _CALL_TYPES))
        return ProtocolInfo(
            id="segment",
            label="Segment",
            homepage="https://segment.com/docs/connections/sources/catalog/libraries/server/http-api/",
            routes=tuple(ProtocolRoute(path) for path in paths),
        )

    def find_key(self, request: ProtocolRequest) -> str | None:
        """Returns the user of HTTP Basic authentication, or else ``writeKey`` of the body or of its first call."""
        user, _ = request.basic_credentials
        if user:
            return user
        document = json_object(request.document)
        calls = document.get("batch")
        first = calls[0] if isinstance(calls, list) and calls else None
        return text_field(document, "writeKey") or text_field(json_object(first), "writeKey")

    def read_events(self, request: ProtocolRequest) -> Sequence[ProtocolEvent]:
        """Returns one event for each call."""
        document = request.document
        if not isinstance(document, dict):
            raise UnreadableRequest
        if request.path not in _BATCH_PATHS:
            call_type = _CALL_TYPES[request.path.removeprefix("/v1/")]
            return [map_call({**document, "type": call_type}, document.get("sentAt"), request.received_at)]
        calls = document.get("batch")
        if not isinstance(calls, list):
            raise UnreadableRequest
        request.require_event_count(calls)
        shared = json_object(document.get("context"))
        return [
            map_call(_with_shared_context(call, shared), document.get("sentAt"), request.received_at)
            for call in calls
        ]

    def respond(self, _request: ProtocolRequest, outcome: ProtocolOutcome) -> ProtocolResponse:
        """Returns ``{"success": true}``, or false with a code; the libraries send again after 429 and 5xx."""
        status = outcome.status
        body: dict[str, Any] = {"success": status < 400}  # noqa: PLR2004 - HTTP status of an error
        headers = {"content-type": "application/json"}
        if not body["success"]:
            reason = outcome.refusal or outcome.rejected[0][1]
            body |= {"code": reason.value, "message": f"The request was refused: {reason.value}"}
        if status == 429:  # noqa: PLR2004 - too many requests
            headers["retry-after"] = "1"
        return ProtocolResponse(status, json.dumps(body).encode(), headers)


def _with_shared_context(call: object, shared: dict[str, Any]) -> dict[str, Any]:
    """Returns a call of a batch with the context of the batch, which its own precedes."""
    fields = json_object(call)
    return {**fields, "context": {**shared, **json_object(fields.get("context"))}} if shared else fields
