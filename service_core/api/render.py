"""Renders results and errors as responses: headers, timestamps and numbers."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel

from service_core.api.http_messages import ApiResponse, JsonCodec
from service_core.kernel.file_response import FileResponse
from service_core.kernel.timestamps import format_timestamp

ALLOWED_METHODS: Final = ("GET", "POST", "PATCH", "DELETE")

DEFAULT_HEADERS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Mutation-Remaining, X-RateLimit-Degraded, "
        "Retry-After, Idempotent-Replay, X-Error-Id, X-Warnings, Cache-Control, WWW-Authenticate"
    ),
    "Cache-Control": "no-store",
}
"""Headers of every response."""

PREFLIGHT_RESPONSE: Final = ApiResponse(
    204,
    {
        **DEFAULT_HEADERS,
        "Access-Control-Allow-Methods": f"{', '.join(ALLOWED_METHODS)}, OPTIONS",
        "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key",
        "Access-Control-Max-Age": "86400",
    },
)
"""The response to ``OPTIONS`` on any path. Credentials mode is never allowed."""


def render_json_or_file_stream(
    codec: JsonCodec, status: int, result_body: Any, headers: Mapping[str, str]
) -> ApiResponse:
    """Returns the response for a result: a file as a stream, anything else as JSON."""
    if not isinstance(result_body, FileResponse):
        return json_response_with_default_headers(codec, status, result_body, headers)
    described = {
        "Content-Type": result_body.media_type,
        "Content-Length": str(result_body.size),
        "Content-Disposition": f'attachment; filename="{result_body.name}"',
        "X-Content-Type-Options": "nosniff",
    }
    return ApiResponse(
        status, {**described, **DEFAULT_HEADERS, **headers}, open_stream=result_body.open_stream
    )


def json_response_with_default_headers(
    codec: JsonCodec, status: int, body: Any, headers: Mapping[str, str]
) -> ApiResponse:
    """Returns a JSON response with the default headers; a 503 carries ``Retry-After: 5``."""
    retry = {"Retry-After": "5"} if status == 503 else {}  # noqa: PLR2004
    return ApiResponse(
        status,
        {"Content-Type": "application/json", **DEFAULT_HEADERS, **retry, **headers},
        codec.dumps(body, json_default),
    )


def json_default(value: Any) -> Any:
    """Returns the JSON form of types that JSON lacks: models, timestamps, dates, decimals and sets.

    Raises:
        TypeError: the type has no JSON form.
    """
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True)
    if isinstance(value, datetime):
        return format_timestamp(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
