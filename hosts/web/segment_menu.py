"""The saved segments that the bar of a page offers."""

from dataclasses import replace
from typing import Final

from hosts.web.api_client import ApiClient
from hosts.web.range_bar import SegmentMenu
from hosts.web.view_state import ViewState

MAX_OFFERED: Final = 100


async def add_segment_dimensions(client: ApiClient, state: ViewState) -> ViewState:
    """Returns the state with the dimensions of its segment; as it is without one, or when it cannot be read."""
    if state.segment_id is None:
        return state
    found = await client.get(f"/segments/{state.segment_id}")
    if not found.ok:
        return state
    return replace(state, segment_dimensions=tuple(one["dimension"] for one in found.body["filters"]))


async def read_segment_menu(
    client: ApiClient, chosen_id: str | None, list_address: str, save_address: str
) -> SegmentMenu:
    """Returns the segments by name; a chosen one that is not among them is named as such.

    Args:
        client: reads as the person.
        chosen_id: of the segment of the page; None for none.
        list_address: of the page of all segments.
        save_address: where a form saves filters as a segment; empty for who may not.
    """
    listed = await client.get("/segments", limit=str(MAX_OFFERED))
    found = listed.body["segments"] if listed.ok else []
    names = {one["id"]: one["name"] for one in sorted(found, key=lambda one: one["name"].casefold())}
    if chosen_id and chosen_id not in names:
        names[chosen_id] = "Another segment"
    return SegmentMenu(names, save_address, list_address, None if listed.ok else listed.message)
