"""Pages of ``tools/list``, each small enough for a client to read at once."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from hosts.mcp.jsonrpc import INVALID_PARAMS, JsonRpcError, JsonRpcRequest

MAX_PAGE_BYTES: Final = 64 * 1024 - 200
"""Size of the entries of a page as JSON, unless it is one larger entry; the answer around them stays below 64 KiB."""

Entry = Mapping[str, Any]


def build_page_of_tools(
    call: JsonRpcRequest, first_entries: Sequence[Entry], late_entries: Sequence[Entry]
) -> dict[str, Any]:
    """Returns the tools from the cursor of a request on, and ``nextCursor`` if more follow.

    Args:
        call: with ``cursor`` in its parameters, unless it asks for the first page.
        first_entries: tools that the token sees, in their order.
        late_entries: tools that follow on further pages.

    Raises:
        JsonRpcError: no page begins at the cursor.
    """
    entries = (*first_entries, *late_entries)
    start = _position_of_cursor(call, entries)
    last = len(first_entries) if start < len(first_entries) else len(entries)
    end, size = start, 0
    while end < last:
        size += len(orjson.dumps(entries[end])) + 1
        if size > MAX_PAGE_BYTES and end > start:
            break
        end += 1
    page: dict[str, Any] = {"tools": [*entries[start:end]]}
    return page | ({"nextCursor": entries[end]["name"]} if end < len(entries) else {})


def _position_of_cursor(call: JsonRpcRequest, entries: Sequence[Entry]) -> int:
    """Returns the index of the tool that a cursor names; 0 without a cursor."""
    cursor = call.params.get("cursor")
    if cursor is None:
        return 0
    for index, entry in enumerate(entries):
        if entry["name"] == cursor:
            return index
    raise JsonRpcError(INVALID_PARAMS, "Unknown cursor", call.id)
