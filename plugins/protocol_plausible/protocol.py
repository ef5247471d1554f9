"""Route, key and answers of Plausible's events API."""

import json
from collections.abc import Sequence
from typing import Final

from plugins.protocol_plausible.mapping import map_event, parse_domains
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
)

_TEXT: Final = {"content-type": "text/plain; charset=utf-8"}


class PlausibleProtocol:
    """Takes the events of Plausible's script and of its events API."""

    @property
    def info(self) -> ProtocolInfo:
        """Returns id, name, route and limits."""
        return ProtocolInfo(
            id="plausible",
            label="Plausible",
            homepage="https://plausible.io/docs/events-api",
            routes=(ProtocolRoute("/api/event"),),
            max_body_bytes=256_000,
            derives_visitor_id=True,
        )

    def find_key(self, request: ProtocolRequest) -> str | None:
        """Returns the first domain."""
        return next(iter(parse_domains(json_object(request.document))), None)

    def read_events(self, request: ProtocolRequest) -> Sequence[ProtocolEvent]:
        """Returns the one event."""
        if not isinstance(request.document, dict):
            raise UnreadableRequest
        return [map_event(request.document, request)]

    def respond(self, _request: ProtocolRequest, outcome: ProtocolOutcome) -> ProtocolResponse:
        """Returns 202 ``ok``, also for an unknown domain, whose event is marked as dropped; 400 for an invalid event."""
        if outcome.refusal is RequestRefusal.UNKNOWN_KEY:
            return ProtocolResponse(202, b"ok", {**_TEXT, "x-plausible-dropped": "1"})
        if outcome.status == 200:  # noqa: PLR2004 - taken
            return ProtocolResponse(202, b"ok", _TEXT)
        reason = outcome.refusal or outcome.rejected[0][1]
        body = json.dumps({"errors": {"event": [reason.value]}}).encode()
        return ProtocolResponse(outcome.status, body, {"content-type": "application/json"})
