"""Values of a dimension for the form of a filter: what a reader may choose instead of guessing its spelling."""

import json
from typing import Final

from quart import Response, request

from hosts.web.page_context import Page, PageContext
from hosts.web.value_labels import label_dimension_value
from hosts.web.view_state import read_view_state
from hosts.web.workspace_view import open_workspace_view

_MAX_VALUES: Final = 20


async def list_filter_values(context: PageContext, public_id: str) -> Response:
    """The most frequent values of ``dimension`` that contain ``q``, with their labels, as JSON for a script."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now)
    dimension = request.args.get("dimension", "")
    listed = await view.get(
        "/dimension-values",
        **state.range_and_segment_parameters(),
        dimension=dimension,
        q=request.args.get("q", ""),
        limit=str(_MAX_VALUES),
    )
    if not listed.ok:
        return context.json_response(json.dumps({"error": listed.message}), listed.status)
    values = [
        {"value": one["value"], "label": label_dimension_value(dimension, one["value"])}
        for one in listed.body["values"]
    ]
    return context.json_response(json.dumps({"values": values}))


PAGES: Final = (Page("GET /w/<public_id>/filter-values", list_filter_values),)
