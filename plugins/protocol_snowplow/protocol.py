"""Routes, key and answers of Snowplow's tracker protocol."""

from collections.abc import Sequence
from typing import Any, Final

from plugins.protocol_snowplow.mapping import map_event
from service_core.plugin import (
    TRANSPARENT_GIF,
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

_POST_PATH: Final = "/com.snowplowanalytics.snowplow/tp2"
_GET_PATH: Final = "/i"
_OK: Final = 200


class SnowplowProtocol:
    """Takes the payloads of trackers."""

    @property
    def info(self) -> ProtocolInfo:
        """Returns id, name, routes and limits."""
        return ProtocolInfo(
            id="snowplow",
            label="Snowplow",
            homepage="https://docs.snowplow.io/docs/events/going-deeper/event-parameters/",
            routes=(ProtocolRoute(_POST_PATH), ProtocolRoute(_GET_PATH, frozenset({"GET"}))),
            derives_visitor_id=True,
        )

    def find_key(self, request: ProtocolRequest) -> str | None:
        """Returns the application id of the first event."""
        return request.first_key(text_field(json_object(one), "aid") for one in _list_payloads(request))

    def read_events(self, request: ProtocolRequest) -> Sequence[ProtocolEvent]:
        """Returns one event for each payload."""
        payloads = _list_payloads(request)
        request.require_event_count(payloads)
        return [map_event(json_object(payload), request) for payload in payloads]

    def respond(self, request: ProtocolRequest, outcome: ProtocolOutcome) -> ProtocolResponse:
        """Returns ``ok``, or a GIF; trackers send nothing again after 400, 401, 403, 413 and 422."""
        if outcome.status != _OK:
            reason = outcome.refusal or outcome.rejected[0][1]
            return ProtocolResponse(outcome.status, reason.value.encode(), {"content-type": "text/plain"})
        if request.path == _GET_PATH:
            return ProtocolResponse(_OK, TRANSPARENT_GIF, {"content-type": "image/gif"})
        return ProtocolResponse(_OK, b"ok", {"content-type": "text/plain"})


def _list_payloads(request: ProtocolRequest) -> list[Any]:
    if request.path == _GET_PATH:
        return [dict(request.query_fields)]
    data = json_object(request.document).get("data")
    if not isinstance(data, list):
        raise UnreadableRequest
    return data
