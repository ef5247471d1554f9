"""Routes, key and answers of Matomo's tracking API."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from plugins.protocol_matomo.mapping import map_request
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
    parse_form,
    text_field,
)

_PATHS: Final = ("/matomo.php", "/piwik.php")
_OK: Final = 200
_JSON: Final = {"content-type": "application/json"}


class MatomoProtocol:
    """Takes requests one by one, by query or form, and several as JSON."""

    @property
    def info(self) -> ProtocolInfo:
        """Returns id, name, routes and limits."""
        methods = frozenset({"GET", "POST"})
        return ProtocolInfo(
            id="matomo",
            label="Matomo",
            homepage="https://developer.matomo.org/api-reference/tracking-api",
            routes=tuple(ProtocolRoute(path, methods) for path in _PATHS),
            derives_visitor_id=True,
        )

    def find_key(self, request: ProtocolRequest) -> str | None:
        """Returns the token of a server, or else the id of the site."""
        if _is_bulk(request):
            token = text_field(json_object(request.document), "token_auth")
            if token:
                return token
        requests = _list_requests(request)
        return text_field(_fields_of_one(requests[0]), "token_auth", "idsite") if requests else None

    def read_events(self, request: ProtocolRequest) -> Sequence[ProtocolEvent]:
        """Returns one event for each request."""
        requests, is_bulk = _list_requests(request), _is_bulk(request)
        request.require_event_count(requests)
        shared_token = text_field(json_object(request.document), "token_auth") if is_bulk else None
        return [
            map_request(
                fields,
                has_token=bool(shared_token or fields.get("token_auth")),
                key=None if shared_token else text_field(fields, "token_auth", "idsite"),
            )
            for fields in map(_fields_of_one, requests)
        ]

    def respond(self, request: ProtocolRequest, outcome: ProtocolOutcome) -> ProtocolResponse:
        """Returns a GIF, 204 for clients that want none, or for several requests how many were taken."""
        status = outcome.status
        if _is_bulk(request):
            tracked = outcome.accepted + outcome.duplicates
            answer = {
                "status": "success" if status == _OK else "error",
                "tracked": tracked,
                "invalid": len(outcome.rejected),
            }
            return ProtocolResponse(status, json.dumps(answer).encode(), _JSON)
        if status != _OK:
            reason = outcome.refusal or outcome.rejected[0][1]
            return ProtocolResponse(status, reason.value.encode(), {"content-type": "text/plain"})
        if _wants_no_image(request):
            return ProtocolResponse(204)
        return ProtocolResponse(_OK, TRANSPARENT_GIF, {"content-type": "image/gif"})


def _is_bulk(request: ProtocolRequest) -> bool:
    return request.body.lstrip().startswith(b"{")


def _list_requests(request: ProtocolRequest) -> list[Any]:
    """Returns the one request of query and form, or those of a JSON body as sent."""
    if not _is_bulk(request):
        return [{**request.query_fields, **request.form_fields}]
    requests = json_object(request.document).get("requests")
    if not isinstance(requests, list):
        raise UnreadableRequest
    return requests


def _fields_of_one(request: Any) -> Mapping[str, str]:
    """Returns the parameters of one of several requests: a query, or an object of texts and numbers."""
    if isinstance(request, str):
        return parse_form(request.partition("?")[2] if "?" in request else request)
    fields = json_object(request)
    return {name: str(value) for name, value in fields.items() if isinstance(value, str | int | float)}


def _wants_no_image(request: ProtocolRequest) -> bool:
    try:
        return {**request.query_fields, **request.form_fields}.get("send_image") == "0"
    except UnreadableRequest:
        return False
