"""Lists of the records that tiles of the overview count."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hosts.web.cards.tiles import Tile
from hosts.web.events import EVENT_FILTER_DIMENSIONS
from hosts.web.read_filters import exact_filter_parameters
from hosts.web.view_state import ViewState

_LISTS: Final[Mapping[str, tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]]] = {
    "pageviews": ("/events", (("event_name", "page_view"),), EVENT_FILTER_DIMENSIONS),
}
"""Metric -> page of the records, its parameters, and the dimensions it can be filtered by."""


def records_link_of_tile(tile: Tile, state: ViewState) -> str:
    """The path and query string of the records that a tile counts; empty where no page lists them under the filters."""
    if tile.metric not in _LISTS or not tile.link:
        return ""
    path, parameters, dimensions = _LISTS[tile.metric]
    if exact_filter_parameters(state, dimensions)[1]:
        return ""
    return f"{path}{replace(state, page_parameters=parameters).query_string}"
