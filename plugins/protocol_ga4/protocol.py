"""Routes, key and answers of the Measurement Protocol and of the tag."""

from collections.abc import Mapping, Sequence
from typing import Final

from plugins.protocol_ga4.mapping import map_measurement_event
from plugins.protocol_ga4.tag_mapping import map_tag_event
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
    parse_form,
    text_field,
)

_MEASUREMENT_PATH: Final = "/mp/collect"
_TAG_PATH: Final = "/g/collect"
_OK: Final = 200
_NO_CONTENT: Final = ProtocolResponse(204)


class Ga4Protocol:
    """Takes events that servers send by the Measurement Protocol, and those of the tag."""

    @property
    def info(self) -> ProtocolInfo:
        """Returns id, name, routes and limits."""
        return ProtocolInfo(
            id="ga4",
            label="Google Analytics 4",
            homepage="https://developers.google.com/analytics/devguides/collection/protocol/ga4",
            routes=(
                ProtocolRoute(_MEASUREMENT_PATH),
                ProtocolRoute(_TAG_PATH, frozenset({"GET", "POST"})),
            ),
        )

    def find_key(self, request: ProtocolRequest) -> str | None:
        """Returns the API secret of the Measurement Protocol, or the measurement id of the tag."""
        name = "api_secret" if request.path == _MEASUREMENT_PATH else "tid"
        return text_field(request.query_fields, name)

    def read_events(self, request: ProtocolRequest) -> Sequence[ProtocolEvent]:
        """Returns the events of the body; of the tag also that of the query."""
        if request.path == _TAG_PATH:
            return [map_tag_event(fields) for fields in _tag_events(request)]
        document = request.document
        events = document.get("events") if isinstance(document, dict) else None
        events = [events] if isinstance(events, dict) else events
        if not isinstance(events, list):
            raise UnreadableRequest
        request.require_event_count(events)
        return [map_measurement_event(json_object(event), document) for event in events]

    def respond(self, _request: ProtocolRequest, outcome: ProtocolOutcome) -> ProtocolResponse:
        """Returns 204, as the vendor does for every request it has read, also for an unknown key."""
        if outcome.status == _OK or outcome.refusal is RequestRefusal.UNKNOWN_KEY:
            return _NO_CONTENT
        return ProtocolResponse(outcome.status)


def _tag_events(request: ProtocolRequest) -> list[Mapping[str, str]]:
    """Returns the parameters of each event: each line of the body, or else the query, which all share."""
    shared = request.query_fields
    lines = [line for line in request.body.decode("utf-8", "replace").splitlines() if line.strip()]
    request.require_event_count(lines)
    return [{**shared, **parse_form(line)} for line in lines] or [shared]
