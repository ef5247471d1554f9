"""The largest answer of the API, and how a page that would be larger is cut at a row."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from service_core.kernel.errors import BadRequest
from service_core.kernel.schemas import BodyModel, QueryModel

MAX_ANSWER_BYTES: Final = 16_000_000
"""Most bytes of one JSON answer, before compression. Files are streams and have no such limit."""

_SAFETY_PERCENT: Final = 90
"""Rows differ in size: the next try asks for fewer than the average row allows."""


def arguments_with_limit_that_fits_16_mb(
    handler_arguments: Mapping[str, Any], answer: Any, answer_bytes: int
) -> dict[str, Any]:
    """Returns handler arguments with a ``limit`` that should keep the answer within `MAX_ANSWER_BYTES`.

    Args:
        handler_arguments: the arguments of the call that gave the answer.
        answer: the answer that is too large.
        answer_bytes: its size as JSON.

    Raises:
        BadRequest: ``answer_too_large``, when the request has no ``limit`` or one row is too large.
    """
    for name in ("query", "body"):
        request = handler_arguments.get(name)
        limit = getattr(request, "limit", None)
        if isinstance(request, QueryModel | BodyModel) and isinstance(limit, int) and limit > 1:
            rows = min(limit, _longest_list(answer) or limit)
            fitting = rows * MAX_ANSWER_BYTES * _SAFETY_PERCENT // (100 * answer_bytes)
            return {**handler_arguments, name: request.with_smaller_limit(max(1, fitting))}
    raise answer_too_large_error()


def answer_too_large_error() -> BadRequest:
    """Returns the error of an answer that no smaller page makes small enough."""
    return BadRequest(
        "The answer would be larger than 16 MB",
        "answer_too_large",
        hint="Ask for a shorter range, fewer dimensions or fewer rows, or create an export (POST /exports).",
    )


def _longest_list(answer: Any) -> int:
    """Returns the length of the longest list among the fields of an answer; 0 without a list."""
    values = dict(answer).values() if isinstance(answer, BaseModel | Mapping) else ()
    return max((len(value) for value in values if isinstance(value, list | tuple)), default=0)
