"""Answers and refusals as responses: headers, timestamps and numbers of the wire (contract 2.4, 2.5, 2.8)."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from pydantic import BaseModel

from service_core.gateway.exchange import Codec, Response
from service_core.kernel.files import File
from service_core.kernel.instants import wire

METHODS: Final = ("GET", "POST", "PATCH", "DELETE")

ALWAYS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Mutation-Remaining, X-RateLimit-Degraded, "
        "Retry-After, Idempotent-Replay, X-Error-Id, Cache-Control, WWW-Authenticate"
    ),
    "Cache-Control": "no-store",
}
"""Headers of every response."""

PREFLIGHT: Final = Response(
    204,
    {
        **ALWAYS,
        "Access-Control-Allow-Methods": f"{', '.join(METHODS)}, OPTIONS",
        "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key",
        "Access-Control-Max-Age": "86400",
    },
)
"""The answer to ``OPTIONS`` on any path; credentials mode is never allowed."""


def answered(codec: Codec, status: int, answer: Any, headers: Mapping[str, str]) -> Response:
    """The response to an answer: a file as it is, anything else as JSON."""
    if not isinstance(answer, File):
        return json_response(codec, status, answer, headers)
    described = {
        "Content-Type": answer.media_type,
        "Content-Length": str(answer.size),
        "Content-Disposition": f'attachment; filename="{answer.name}"',
        "X-Content-Type-Options": "nosniff",
    }
    return Response(status, {**described, **ALWAYS, **headers}, chunks=answer.chunks)


def json_response(codec: Codec, status: int, content: Any, headers: Mapping[str, str]) -> Response:
    """A JSON response with the headers every response has; a 503 asks to come back in 5 seconds."""
    retry = {"Retry-After": "5"} if status == 503 else {}  # noqa: PLR2004
    return Response(
        status,
        {"Content-Type": "application/json", **ALWAYS, **retry, **headers},
        codec.dumps(content, plain),
    )


def plain(value: Any) -> Any:
    """Render what JSON lacks: models, timestamps ``2026-07-01T05:00:00.000Z``, dates and exact decimals.

    Raises:
        TypeError: a value that has no form on the wire.
    """
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True)
    if isinstance(value, datetime):
        return wire(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
