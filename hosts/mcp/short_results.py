"""Shortens the results of the compact tools: long lists stop at a row."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

MAX_CHARACTERS: Final = 20_000
"""Size of a compact result as JSON, about 5,000 tokens; a result without lists may be larger."""


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
