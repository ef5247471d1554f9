"""Routes, key and answers of Mixpanel's ingestion API, under a prefix of its own."""

import json
from collections.abc import Sequence
from typing import Any, Final

from plugins.protocol_mixpanel.mapping import map_event, map_profile_update
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

PREFIX: Final = "/mixpanel"
"""The clients' API host is the ingest host with this path: ``/track`` itself is Touchpoint's."""

_PATHS: Final = tuple(
    f"{PREFIX}/{name}{end}" for name in ("track", "engage", "import", "groups") for end in ("", "/")
)
_OK: Final = 200
_JSON: Final = {"content-type": "application/json"}
_JSON_SIGNS: Final = (b"{", b"[")


class MixpanelProtocol:
    """Takes events and updates of profiles."""

    @property
    def info(self) -> ProtocolInfo:
        """Returns id, name, routes and limits."""
        methods = frozenset({"GET", "POST"})
        return ProtocolInfo(
            id="mixpanel",
            label="Mixpanel",
            homepage="https://developer.mixpanel.com/reference/ingestion-api",
            routes=tuple(ProtocolRoute(path, methods) for path in _PATHS),
        )

    def find_key(self, request: ProtocolRequest) -> str | None:
        """Returns the user of HTTP Basic authentication, or else the token of the first event."""
        user, _ = request.basic_credentials
        return user or request.first_key(map(_token, _list_calls(request)))

    def read_events(self, request: ProtocolRequest) -> Sequence[ProtocolEvent]:
        """Returns one event for each event or update of a person's profile; those of groups are left out."""
        sent = _list_calls(request)
        request.require_event_count(sent)
        if _is_path(request, "groups"):
            return []
        calls = [(json_object(call), _token(call)) for call in sent]
        if request.basic_credentials[0]:
            calls = [(call, None) for call, _ in calls]
        hides_ip = "0" in _parameter_values(request, "ip")
        map_call = map_profile_update if _is_path(request, "engage") else map_event
        return [map_call(call, key, hides_ip=hides_ip) for call, key in calls]

    def respond(self, request: ProtocolRequest, outcome: ProtocolOutcome) -> ProtocolResponse:
        """Returns ``1``, or an object for clients that ask for one."""
        taken = outcome.accepted + outcome.duplicates
        is_taken = outcome.status == _OK
        reason = None if is_taken else (outcome.refusal or outcome.rejected[0][1]).value
        if _is_path(request, "import"):
            answer: Any = {
                "code": outcome.status,
                "status": "OK" if is_taken else "Bad Request",
                "num_records_imported": taken,
            }
            if reason:
                answer["error"] = reason
        elif "1" in _parameter_values(request, "verbose"):
            answer = {"status": int(is_taken), "error": reason}
        else:
            return ProtocolResponse(
                outcome.status, b"1" if is_taken else b"0", {"content-type": "text/plain"}
            )
        status = outcome.status
        if outcome.refusal is RequestRefusal.UNKNOWN_KEY:
            answer["error"] = "Invalid credentials"
        return ProtocolResponse(status, json.dumps(answer).encode(), _JSON)


def _is_path(request: ProtocolRequest, name: str) -> bool:
    return request.path.rstrip("/") == f"{PREFIX}/{name}"


def _list_calls(request: ProtocolRequest) -> list[Any]:
    """Returns the events of a JSON body, or of the field ``data`` of form or query, which may be base64."""
    body = request.body.lstrip()
    if body.startswith(_JSON_SIGNS):
        document = request.document
    else:
        fields = request.form_fields if body else request.query_fields
        data = fields.get("data", "").strip()
        text = data.encode("utf-8", "replace")
        if not text.startswith(_JSON_SIGNS):
            text = decode_base64_or_none(data) or b""
        document = request.parse_json(text)
    if isinstance(document, dict):
        return [document]
    if not isinstance(document, list):
        raise UnreadableRequest
    return document


def _token(call: Any) -> str | None:
    fields = json_object(call)
    return text_field(fields, "$token", "token") or text_field(
        json_object(fields.get("properties")), "token", "$token"
    )


def _parameter_values(request: ProtocolRequest, name: str) -> set[str | None]:
    """Returns the values of a parameter in the query and in a form body; an empty set if one of them is unreadable."""
    is_form = not request.body.lstrip().startswith(_JSON_SIGNS)
    try:
        return {request.query_fields.get(name), request.form_fields.get(name) if is_form else None}
    except UnreadableRequest:
        return set()
