"""The error responses of operations in OpenAPI, with the registered error codes."""

from collections.abc import Mapping
from typing import Any, Final

from service_core.kernel.errors import ERROR_CODES
from service_core.kernel.operations import Operation

_DESCRIPTIONS: Final = {
    400: "The request is malformed; nothing was done.",
    401: "No credential, or an unknown one.",
    403: "The credential lacks permission.",
    404: "The workspace has no such resource.",
    405: "The path exists, but not for this method.",
    409: "The state of the resource does not allow the change.",
    413: "The body is over 1,000,000 bytes.",
    422: "Well-formed, but against a domain rule.",
    429: "A rate limit is exceeded.",
    500: "An internal error; `error_id` identifies it in the log.",
    503: "The answer could not be computed or verified: it is unknown, not zero.",
}

_COMMON_STATUSES: Final = (405, 413, 500)
_AUTHENTICATED_STATUSES: Final = (400, 401, 403, 404, 429, 503)


def list_error_statuses(op: Operation) -> tuple[int, ...]:
    """Returns the error statuses an operation may return."""
    inputs = (400,) if op.query or op.body else ()
    path = (404,) if op.path_model else ()
    return tuple(
        sorted(
            {*_COMMON_STATUSES, *(_AUTHENTICATED_STATUSES if op.scope else ()), *inputs, *path, *op.errors}
        )
    )


def _describe_header(description: str, kind: str = "integer") -> dict[str, Any]:
    return {"description": description, "schema": {"type": kind}}


RATE_HEADERS: Final[Mapping[str, Any]] = {
    "X-RateLimit-Limit": _describe_header("Requests per 60 seconds of this credential."),
    "X-RateLimit-Remaining": _describe_header("Requests left in the present window."),
}
"""Headers of every response to an authenticated request."""

IDEMPOTENCY_KEY_PARAMETER: Final[Mapping[str, Any]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "maxLength": 255},
    "description": "The request is performed once; an identical retry within 24 hours gets the first answer "
    "with `Idempotent-Replay: true`. Ignored on dry runs.",
}
"""The header of idempotent operations."""

_HEADERS_BY_STATUS: Final[Mapping[int, Mapping[str, Any]]] = {
    409: {"Retry-After": _describe_header("Seconds to wait, while an identical request is still running.")},
    401: {"WWW-Authenticate": _describe_header("How to authenticate.", "string")},
    405: {"Allow": _describe_header("Methods of the path.", "string")},
    429: {"Retry-After": _describe_header("Seconds to wait.")},
    500: {"X-Error-Id": _describe_header("Equal to `error_id`.", "string")},
    503: {"Retry-After": _describe_header("Seconds to wait.")},
}


_SCHEMA_NAMES: Final = {
    400: "BadRequestError",
    401: "UnauthorizedError",
    403: "ForbiddenError",
    404: "NotFoundError",
    405: "MethodNotAllowedError",
    409: "ConflictError",
    413: "PayloadTooLargeError",
    422: "UnprocessableError",
    429: "RateLimitedError",
    500: "InternalServerError",
    503: "UnavailableError",
}


def error_schemas() -> dict[str, Any]:
    """Returns one JSON schema per status."""
    return {
        name: {"title": name, **_error_schema_with_codes_of_status(status)}
        for status, name in _SCHEMA_NAMES.items()
    }


def error_responses() -> dict[str, Any]:
    """Returns one OpenAPI response per status, named by the status."""
    return {str(status): _describe_error_response(status, text) for status, text in _DESCRIPTIONS.items()}


def _describe_error_response(status: int, text: str) -> dict[str, Any]:
    described: dict[str, Any] = {
        "description": text,
        "content": {
            "application/json": {"schema": {"$ref": f"#/components/schemas/{_SCHEMA_NAMES[status]}"}}
        },
    }
    if status in _HEADERS_BY_STATUS:
        described["headers"] = dict(_HEADERS_BY_STATUS[status])
    return described


def _error_schema_with_codes_of_status(status: int) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "error": {"type": "string", "description": "One sentence; never branch on it."}
    }
    codes = sorted(ERROR_CODES.get(status, ()))
    if codes:
        properties |= {
            "code": {"type": "string", "description": f"Stable: {', '.join(codes)}, or one added later."},
            "reason": {"type": "string", "description": "Equal to `code`, on routes that say so."},
            "field": {"type": "string", "description": "The offending parameter or JSON path."},
            "hint": {"type": "string", "description": "What to do."},
        }
    if status == 403:  # noqa: PLR2004
        properties["required_scope"] = {"type": "string"}
    if status == 500:  # noqa: PLR2004
        properties["error_id"] = {"type": "string", "format": "uuid"}
    return {"type": "object", "required": ["error"], "properties": properties}
