"""The routes of the ingest host: events, batches of browsers, container scripts, webhooks and the tracking script."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.api.host_routes.models import (
    JAVASCRIPT,
    JSON,
    Content,
    Host,
    HostResponse,
    HostRoute,
    HostRoutes,
    ResponseStatus,
    Schema,
    path_parameter,
    reference,
)

_TAG: Final = "ingest"
_WORKSPACE_ID: Final = "ws_8m2k4x7q1n5v"
_TEXT: Final = {"type": "string"}
_ID: Final = {"type": ["string", "number"]}

_EVENT_FIELDS: Final[Mapping[str, Any]] = {
    "event": _TEXT
    | {"description": "Name of the event; required here or as `event_name`. Cut at 255 characters."},
    "event_name": _TEXT | {"description": "Read when `event` is missing."},
    "distinct_id": _ID | {"description": "One of the four ids is required; `camelCase` is accepted too."},
    "user_id": _ID | {"description": "Id of a signed-in person."},
    "anonymous_id": _ID | {"description": "Id of a browser or an installation."},
    "visitor_id": _ID | {"description": "Id of a browser or an installation."},
    "event_id": _TEXT
    | {"description": "The event is stored once: a repeat within 7 days is a duplicate. Also `message_id`."},
    "timestamp": {
        "type": ["string", "number"],
        "description": "ISO 8601, epoch seconds or milliseconds; the time of receipt when it is missing.",
    },
    "properties": {"type": "object", "description": "Properties, attribution and revenue of the event."},
    "context": {
        "type": "object",
        "description": "`session_id`, `userAgent`, `library`, `locale` and other facts about the sender.",
    },
    "external_ids": {"type": "object", "description": "Ids of the person in other systems."},
    "ip": _TEXT | {"description": "Address of the person; `0` records none."},
}

_SCHEMAS: Final[Mapping[str, Schema]] = {
    "TrackedEvent": {
        "title": "TrackedEvent",
        "type": "object",
        "description": "One event. Other fields are ignored.",
        "properties": _EVENT_FIELDS,
        "additionalProperties": True,
    },
    "TrackedEventResult": {
        "title": "TrackedEventResult",
        "type": "object",
        "description": "`success` tells whether the event was stored. A duplicate is not stored again.",
        "required": ["success"],
        "properties": {
            "success": {"type": "boolean"},
            "event": _TEXT | {"description": "Name of the stored event."},
            "workspace": _TEXT | {"description": "Public id of the workspace."},
            "error": _TEXT,
            "event_id": _TEXT | {"description": "Id of the duplicate."},
        },
    },
    "IngestError": {
        "title": "IngestError",
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": _TEXT,
            "details": _TEXT | {"description": "The part that failed: `queue` or `claim`."},
            "error_id": _TEXT | {"description": "Identifies an internal error in the log."},
            "code": _TEXT,
            "hint": _TEXT,
        },
    },
    "BrowserEvent": {
        "title": "BrowserEvent",
        "type": "object",
        "description": "An event as `POST /track` takes it, or with `event_data`, `session_id` and `workspace_id`.",
        "properties": {
            **_EVENT_FIELDS,
            "event_data": {"type": "object", "description": "Another name of `properties`."},
            "session_id": _TEXT,
            "workspace_id": _TEXT | {"description": "Read when the batch names no workspace."},
        },
        "additionalProperties": True,
    },
    "EventBatch": {
        "title": "EventBatch",
        "type": "object",
        "required": ["events"],
        "properties": {
            "workspace_id": _TEXT
            | {"description": "Public id of the workspace; else that of the events counts."},
            "events": {"type": "array", "maxItems": 500, "items": reference("BrowserEvent")},
            "sent_at": {
                "type": ["string", "number"],
                "description": "Time of the browser when it sent the batch.",
            },
        },
        "additionalProperties": True,
    },
    "EventBatchResult": {
        "title": "EventBatchResult",
        "type": "object",
        "required": ["success", "received", "accepted", "duplicates", "rejected"],
        "properties": {
            "success": {"type": "boolean"},
            "received": {"type": "integer"},
            "accepted": {"type": "integer"},
            "duplicates": {"type": "integer"},
            "rejected": {"type": "array", "items": reference("RejectedBatchEvent")},
        },
    },
    "RejectedBatchEvent": {
        "title": "RejectedBatchEvent",
        "type": "object",
        "required": ["index", "event_id", "error"],
        "properties": {
            "index": {"type": "integer"},
            "event_id": {"type": ["string", "null"]},
            "error": _TEXT,
        },
    },
    "ContainerRequest": {
        "title": "ContainerRequest",
        "type": "object",
        "properties": {"workspace_id": _TEXT, "workspaceId": _TEXT},
        "additionalProperties": True,
    },
    "Container": {
        "title": "Container",
        "type": "object",
        "description": "What the tracking script runs on a page; empty for an unknown workspace.",
        "required": ["scripts", "pixels", "config"],
        "properties": {
            "scripts": {"type": "array", "items": {"type": "object"}},
            "pixels": {"type": "object"},
            "config": {"type": "object"},
        },
    },
    "WebhookResult": {
        "title": "WebhookResult",
        "type": "object",
        "required": ["received", "duplicate"],
        "properties": {"received": {"type": "boolean"}, "duplicate": {"type": "boolean"}},
    },
}

_EVENT_EXAMPLE: Final = {
    "event": "purchase",
    "user_id": "customer-17",
    "event_id": "order-1001",
    "properties": {"order_id": "1001", "value": 49.9, "currency": "EUR", "utm_source": "newsletter"},
}
_BATCH_EXAMPLE: Final = {
    "workspace_id": _WORKSPACE_ID,
    "events": [
        {
            "event": "price_shown",
            "visitor_id": "v-1",
            "event_data": {"page_url": "https://shop.example/pricing"},
        }
    ],
}
_BATCH_RESULT_EXAMPLE: Final = {
    "success": True,
    "received": 1,
    "accepted": 1,
    "duplicates": 0,
    "rejected": [],
}

_ERROR_DESCRIPTIONS: Final = {
    400: ("The body is malformed; nothing was stored.", "Request body is required"),
    401: ("No key, or an unknown one.", "Invalid API key"),
    403: ("The workspace does not list the origin.", "Origin not allowed"),
    404: ("No such route.", "Not found"),
    405: ("The path exists, but not for this method.", "Method not allowed"),
    408: ("The body did not arrive within 30 seconds.", "Request body took too long"),
    413: ("The body is too large.", "Payload too large. Maximum size is 256KB."),
    415: ("The `Content-Encoding` is unknown.", "Unsupported content encoding"),
    429: ("Too many events in one second.", "Rate limit exceeded. Maximum 1000 requests per second."),
    500: ("Nothing was stored: retry with the same `event_id`.", "Failed to enqueue event"),
    503: ("A store does not answer: retry.", "The data cannot be written at the moment"),
}


def _responses_with_errors(success: Content, *statuses: int) -> dict[ResponseStatus, HostResponse]:
    """Returns the 200 response and the error responses of a route."""
    errors: dict[ResponseStatus, HostResponse] = {
        status: HostResponse(
            _ERROR_DESCRIPTIONS[status][0],
            (Content(JSON, reference("IngestError"), {"error": _ERROR_DESCRIPTIONS[status][1]}),),
        )
        for status in statuses
    }
    return {200: HostResponse("The request was handled.", (success,)), **errors}


def _batch_route(path: str, id_: str, description: str) -> HostRoute:
    return HostRoute(
        "POST", path, Host.INGEST, id_, _TAG,
        "Store the events of a web page",
        description,
        _responses_with_errors(
            Content(JSON, reference("EventBatchResult"), _BATCH_RESULT_EXAMPLE),
            400, 401, 403, 405, 408, 413, 415, 429, 500, 503,
        ),
        body=Content(JSON, reference("EventBatch"), _BATCH_EXAMPLE),
    )  # fmt: skip


_ROUTES: Final = (
    HostRoute(
        "POST", "/track", Host.INGEST, "track_event", _TAG,
        "Store one event",
        "Answers 200 when the event is stored durably, or when its `event_id` was stored before: branch on `success`. "
        "The body may be compressed with gzip.",
        _responses_with_errors(
            Content(
                JSON, reference("TrackedEventResult"),
                {"success": True, "event": "purchase", "workspace": _WORKSPACE_ID},
            ),
            400, 401, 405, 408, 413, 415, 429, 500,
        ),
        security=("ingest_key", "ingest_bearer"),
        body=Content(JSON, reference("TrackedEvent"), _EVENT_EXAMPLE),
    ),
    _batch_route(
        "/batch", "track_batch",
        "Takes a public workspace id instead of a key; the workspace may list the origins that send. One invalid event "
        "does not fail the others.",
    ),
    _batch_route("/", "track_batch_at_root", "The same as `POST /batch`, for libraries that send to the root of the host."),
    HostRoute(
        "POST", "/container-scripts", Host.INGEST, "get_container_scripts", _TAG,
        "Return the approved scripts and pixels of a workspace",
        "The tracking script calls it once per page. An unknown workspace has no scripts.",
        _responses_with_errors(
            Content(JSON, reference("Container"), {"scripts": [], "pixels": {}, "config": {}}),
            400, 403, 405, 408, 413, 415, 500, 503,
        ),
        body=Content(JSON, reference("ContainerRequest"), {"workspace_id": _WORKSPACE_ID}),
    ),
    HostRoute(
        "POST", "/webhooks/{provider}/{workspace_public_id}", Host.INGEST, "receive_webhook", _TAG,
        "Receive a message of a revenue provider",
        "The provider signs the message; a message of an unknown type is stored raw. A message that cannot be stored is "
        "answered 503, so that the provider sends it again.",
        _responses_with_errors(
            Content(JSON, reference("WebhookResult"), {"received": True, "duplicate": False}),
            400, 401, 404, 405, 408, 413, 415, 500, 503,
        ),
        parameters=(
            path_parameter("provider", "Id of a connected provider.", "checkout"),
            path_parameter("workspace_public_id", "Public id of the workspace.", _WORKSPACE_ID),
        ),
        body=Content(JSON, {"type": "object"}, {"id": "evt_1", "type": "charge.succeeded"}),
    ),
    HostRoute(
        "GET", "/t.js", Host.INGEST, "get_tracking_script", _TAG,
        "Return the tracking script",
        "Cached for an hour; a known `ETag` is answered 304.",
        {
            200: HostResponse(
                "The script.", (Content(JAVASCRIPT, _TEXT, "(function () { /* … */ })()"),),
                {"ETag": "Digest of the script."},
            ),
            304: HostResponse("The script has not changed."),
            405: HostResponse(
                "The path exists, but not for this method.",
                (Content(JSON, reference("IngestError"), {"error": "Method not allowed"}),),
            ),
        },
    ),
)  # fmt: skip

INGEST_ROUTES: Final = HostRoutes(_ROUTES, _SCHEMAS)
"""The routes of the ingest host."""
