"""Shortens the results of the compact tools: rows without nulls, long lists that stop at a row."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from service_core.kernel.errors import BadRequest

FIELDS_ARGUMENT: Final = "fields"

MAX_CHARACTERS: Final = 20_000
"""Size of a compact result as JSON, about 5,000 tokens; a result without lists may be larger."""


def take_row_selection(
    list_field: str, arguments: Mapping[str, Any]
) -> tuple[dict[str, Any], Callable[[bytes], bytes]]:
    """Returns the arguments without ``fields``, and what shortens the rows of an answer.

    The rows then have these fields only, all of them by default, and none that is null.

    Args:
        list_field: field of the answer that has the rows.
        arguments: of the call.

    Raises:
        BadRequest: ``fields`` is no list of texts.
    """
    fields = arguments.get(FIELDS_ARGUMENT)
    if fields is not None and not (
        isinstance(fields, list) and all(isinstance(name, str) for name in fields)
    ):
        raise BadRequest(
            "fields must be of type array",
            "invalid_parameter",
            field=FIELDS_ARGUMENT,
            hint="Send a list of names.",
        )

    def shorten(body: bytes) -> bytes:
        answer = orjson.loads(body)
        rows = answer[list_field]
        unknown = [name for name in fields or () if rows and name not in rows[0]]
        answer[list_field] = [
            {
                name: value
                for name, value in row.items()
                if value is not None and (not fields or name in fields)
            }
            for row in rows
        ]
        return orjson.dumps(answer | ({"unknown_fields": unknown} if unknown else {}))

    return {name: value for name, value in arguments.items() if name != FIELDS_ARGUMENT}, shorten


def cut_longest_list(body: bytes, uri: str) -> tuple[bytes, bool]:
    """Returns a result of at most `MAX_CHARACTERS`, and whether rows were left out.

    Args:
        body: an answer.
        uri: address of the whole answer, which the result names in ``full_result``.
    """
    if len(body) <= MAX_CHARACTERS:
        return body, False
    answer = orjson.loads(body)
    field = _longest_list(answer)
    if field is None:
        return body, False
    rows = answer[field]
    spare = MAX_CHARACTERS - (len(body) - len(orjson.dumps(rows))) - len(uri) - 100
    shown, size = 0, 0
    for row in rows:
        size += len(orjson.dumps(row)) + 1
        if size > spare:
            break
        shown += 1
    note = {"uri": uri, "field": field, "rows": len(rows), "rows_shown": shown}
    return orjson.dumps({**answer, field: rows[:shown], "full_result": note}), True


def _longest_list(answer: Any) -> str | None:
    """Returns the field of an answer whose list is the longest text; None without any."""
    if not isinstance(answer, Mapping):
        return None
    sizes = {
        name: len(orjson.dumps(value)) for name, value in answer.items() if isinstance(value, list) and value
    }
    return max(sizes, key=lambda name: sizes[name]) if sizes else None
