"""Values of a dimension for the form of a filter: what a reader may choose instead of guessing its spelling."""

import json
from typing import Final

from quart import Response, request

from hosts.web.api_reader import MemberReader, explain_failure, successful_answer
from hosts.web.page_context import Page, PageContext
from hosts.web.value_labels import label_dimension_value
from hosts.web.view_state import read_view_state

_MAX_VALUES: Final = 20


async def list_filter_values(context: PageContext, public_id: str) -> Response:
    """The most frequent values of ``dimension`` that contain ``q``, with their labels, as JSON for a script."""
    workspace, member = await context.require_workspace(public_id)
    caller = context.caller(workspace, member)
    state = read_view_state(request.args, workspace.zone, caller.now)
    dimension = request.args.get("dimension", "")
    response = await MemberReader(context, caller).get(
        "/dimension-values",
        **state.date_parameters(),
        dimension=dimension,
        q=request.args.get("q", ""),
        limit=str(_MAX_VALUES),
    )
    answer = successful_answer(response)
    if answer is None:
        return context.json_response(json.dumps({"error": explain_failure(response)}), response.status)
    values = [
        {"value": one["value"], "label": label_dimension_value(dimension, one["value"])}
        for one in answer["values"]
    ]
    return context.json_response(json.dumps({"values": values}))


PAGES: Final = (Page("GET /w/<public_id>/filter-values", list_filter_values),)
