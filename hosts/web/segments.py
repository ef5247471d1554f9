"""Segments: filters with a name, saved from the filters of a page."""

from collections.abc import Mapping
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer
from hosts.web.cards.json_values import collect_labels
from hosts.web.change_preview import FormWrite, delete_and_lead_to_list, preview_or_save
from hosts.web.page_context import Page, PageContext
from hosts.web.value_labels import label_dimension_value
from hosts.web.view_state import ViewFilter, merge_filter_parameters
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.dimension_ids import PROPERTY_PREFIX
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope

MAX_LISTED: Final = 100
MAX_NAME_LENGTH: Final = 120
_OPERATOR_WORDS: Final[Mapping[str, str]] = {
    "eq": "is", "in": "is", "neq": "is not", "not_in": "is not", "contains": "contains",
    "not_contains": "does not contain", "starts_with": "starts with", "ends_with": "ends with",
    "is_set": "is set", "is_not_set": "is not set", "gt": "is more than", "gte": "is at least",
    "lt": "is less than", "lte": "is at most", "between": "is between",
}  # fmt: skip


async def list_segments(context: PageContext, public_id: str) -> Response:
    """Every segment that the person can see, newest first."""
    view = await open_workspace_view(context, public_id)
    answer = await view.get_or_fail("/segments", limit=str(MAX_LISTED), cursor=request.args.get("cursor", ""))
    names = await view.names_of_creators(*answer["segments"])
    return await view.render(
        "segments.html",
        segments=[
            (one, describe_filters(context, one["filters"]), view.creator_label(one["created_by"], names))
            for one in answer["segments"]
        ],
        following=answer["next_cursor"],
        may_write=view.may(Scope.WRITE_REPORTS),
    )


async def show_new_segment(context: PageContext, public_id: str) -> Response:
    """The form that names the filters in the address."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    filters = merge_filter_parameters(request.args.getlist("f"))
    return await _segment_form(view, filters, {"once": new_token(), "visibility": "workspace"})


async def create_segment(context: PageContext, public_id: str) -> Response:
    """Save the filters of the form under a name."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    form = context.form
    filters = merge_filter_parameters(form.all("f"))
    values = {name: form.text(name) for name in ("name", "visibility", "once")}

    async def render_form(result: ApiResult | None) -> Response:
        return await _segment_form(view, filters, values, result)

    segment = {
        "name": values["name"],
        "visibility": values["visibility"] or "workspace",
        "filters": [one.body for one in filters],
    }
    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/segments",
            {"segment": segment},
            back=f"{view.path}/segments",
            leads_to=lambda _: f"{view.path}/segments",
            render_form=render_form,
        ),
    )


async def delete_segment(context: PageContext, public_id: str, segment_id: str) -> Response:
    """Delete a segment; the list it leads to offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "segments", segment_id)


def describe_filters(context: PageContext, filters: list[Answer]) -> list[str]:
    """Returns each filter of a segment in words."""
    labels = collect_labels(context.component(Catalog))
    return [_describe_filter(one, labels) for one in filters]


def _describe_filter(condition: Answer, labels: Mapping[str, str]) -> str:
    dimension, value = condition["dimension"], condition.get("value")
    values = value if isinstance(value, list) else [] if value is None else [value]
    op = condition.get("op", "eq")
    joint = " and " if op == "between" else " or "
    words = joint.join(label_dimension_value(dimension, each) for each in values)
    name = labels.get(dimension) or dimension.removeprefix(PROPERTY_PREFIX)
    return f"{name} {_OPERATOR_WORDS.get(op, op)} {words}".rstrip()


async def _segment_form(
    view: WorkspaceView,
    filters: tuple[ViewFilter, ...],
    values: Mapping[str, Any],
    result: ApiResult | None = None,
) -> Response:
    return await view.render(
        "segment_editor.html",
        result.status if result else 200,
        words=describe_filters(view.context, [one.body for one in filters]),
        parameters=[parameter for one in filters for parameter in one.parameters],
        values=values,
        refused=result.refusal_message if result else None,
        max_name=MAX_NAME_LENGTH,
    )


PAGES: Final = (
    Page("GET /w/<public_id>/segments", list_segments),
    Page("POST /w/<public_id>/segments", create_segment),
    Page("GET /w/<public_id>/segments/new", show_new_segment),
    Page("POST /w/<public_id>/segments/<segment_id>/delete", delete_segment),
)
