"""Routes, key and answers of Umami's tracking API."""

import json
from collections.abc import Sequence
from typing import Any, Final

from plugins.protocol_umami.mapping import map_event
from service_core.plugin import (
    ProtocolEvent,
    ProtocolInfo,
    ProtocolOutcome,
    ProtocolRequest,
    ProtocolResponse,
    ProtocolRoute,
    RequestRefusal,
    UnreadableRequest,
    json_object,
    text_field,
)

_JSON: Final = {"content-type": "application/json"}
_OK: Final = 200
_BATCH_PATH: Final = "/api/batch"


class UmamiProtocol:
    """Takes the events of Umami's script and of its Node client."""

    @property
    def info(self) -> ProtocolInfo:
        """Returns id, name, routes and limits."""
        return ProtocolInfo(
            id="umami",
            label="Umami",
            homepage="https://umami.is/docs/api/sending-stats",
            routes=(ProtocolRoute("/api/send"), ProtocolRoute(_BATCH_PATH)),
            derives_visitor_id=True,
        )

    def find_key(self, request: ProtocolRequest) -> str | None:
        """Returns the id of the website that the first event names."""
        return request.first_key(map(_website, _list_calls(request)))

    def read_events(self, request: ProtocolRequest) -> Sequence[ProtocolEvent]:
        """Returns the event, or each one of a batch."""
        calls = _list_calls(request)
        request.require_event_count(calls)
        origin = request.headers.get("origin")
        return [map_event(json_object(call), _website(call), origin) for call in calls]

    def respond(self, request: ProtocolRequest, outcome: ProtocolOutcome) -> ProtocolResponse:
        """Returns an object without a cached token, so that the script sends none; 400 for an unknown website."""
        if outcome.status == _OK:
            body: dict[str, Any] = {"cache": "", "sessionId": "", "visitId": ""}
            if request.path == _BATCH_PATH:
                taken = outcome.accepted + outcome.duplicates
                errors = len(outcome.rejected)
                body = {"size": taken + errors, "processed": taken, "errors": errors}
            return ProtocolResponse(_OK, json.dumps(body).encode(), _JSON)
        is_website = outcome.refusal is RequestRefusal.UNKNOWN_KEY
        reason = outcome.refusal or outcome.rejected[0][1]
        message = "Website not found." if is_website else f"The request was refused: {reason.value}"
        error = json.dumps({"error": {"message": message, "code": reason.value}}).encode()
        return ProtocolResponse(400 if is_website else outcome.status, error, _JSON)


def _list_calls(request: ProtocolRequest) -> list[Any]:
    document = request.document
    if request.path == _BATCH_PATH and isinstance(document, list):
        return document
    if not isinstance(document, dict):
        raise UnreadableRequest
    return [document]


def _website(call: Any) -> str | None:
    return text_field(json_object(json_object(call).get("payload")), "website")
