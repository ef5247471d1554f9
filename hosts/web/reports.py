"""Saved reports: the list, one report over any range, and saving, renaming, duplicating and deleting them."""

import json
from typing import Any, Final, cast

from quart import Response, request

from hosts.composition.json_codec import CODEC
from hosts.web.annotations import read_annotations
from hosts.web.api_client import ApiResult
from hosts.web.cards.annotations import mark_annotations
from hosts.web.cards.card import Answer, Card, message_card
from hosts.web.cards.json_values import build_display_context
from hosts.web.cards.rankings import link_rows_to_filters
from hosts.web.cards.reports import build_report_card_by_answer_fields
from hosts.web.change_preview import FormWrite, delete_and_lead_to_list, preview_or_save
from hosts.web.explore_link import explore_link_of_plan
from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from hosts.web.range_bar import DATES_ONLY, FILTERS_ONLY, RangeBar
from hosts.web.report_links import link_report_numbers
from hosts.web.saved_range import describe_saved_range, read_view_state_of_saved_object
from hosts.web.view_state import ViewState
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.errors import BadRequest
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope

MAX_LISTED: Final = 50
MAX_NAME_LENGTH: Final = 120

KIND_LABELS: Final = {
    "metric": "Metric", "timeseries": "Time series", "breakdown": "Breakdown", "table": "Table", "funnel": "Funnel",
}  # fmt: skip
DEFINITION_FIELDS: Final = (
    "source", "metric_id", "chart", "dimension", "plan", "steps", "window_days", "order", "unit",
)  # fmt: skip
"""Fields of a report that say what it shows, as a copy needs them."""


async def list_reports(context: PageContext, public_id: str) -> Response:
    """Every saved report, newest first."""
    view = await open_workspace_view(context, public_id)
    kind = request.args.get("kind", "")
    parameters = {"limit": str(MAX_LISTED), "cursor": request.args.get("cursor", "")}
    if kind in KIND_LABELS:
        parameters["kind"] = kind
    answer = await view.get_or_fail("/reports", **parameters)
    names = await view.names_of_creators(*answer["reports"])
    return await view.render(
        "reports.html",
        reports=[(report, view.creator_label(report["created_by"], names)) for report in answer["reports"]],
        kind=kind,
        kinds=KIND_LABELS,
        following=answer["next_cursor"],
        may_write=view.may(Scope.WRITE_REPORTS),
    )


async def show_report(context: PageContext, public_id: str, report_id: str) -> Response:
    """One report, run over its own range or the one in the address."""
    view = await open_workspace_view(context, public_id)
    report = await load_report(view, report_id)
    state = read_view_state_of_saved_object(report["default_range"], view)
    run, marked = await gather_or_cancel(run_report(view, report, state), read_annotations(view, state))
    catalog = context.component(Catalog)
    drawn = report_card(view, report, run)
    if run.ok:
        drawn = link_report_numbers(
            drawn, report, run.body, state=state, catalog=catalog, pages=f"{context.base}{view.path}"
        )
    card = mark_annotations(drawn, marked, view.workspace.zone)
    names = await view.names_of_creators(report)
    return await view.render(
        "report.html",
        report=report,
        state=state,
        bar=RangeBar(
            state,
            f"{context.base}{view.path}/reports/{report['id']}",
            dimensions_of_report(view, report),
            FILTERS_ONLY if report["plan"] else DATES_ONLY,
        ),
        card=_card_with_filter_links(card, run, state),
        kind=KIND_LABELS[report["kind"]],
        creator=view.creator_label(report["created_by"], names),
        shown_range=encode_object(state.query_body_parts()["date_range"]),
        own_range=describe_saved_range(report["default_range"]),
        explore_link=explore_link_of_plan(report["plan"], state) if report["plan"] else None,
        may_write=view.may(Scope.WRITE_REPORTS),
        once=new_token(),
        max_name=MAX_NAME_LENGTH,
    )


async def create_report(context: PageContext, public_id: str) -> Response:
    """Save the definition that a form holds as a report."""
    view = await open_workspace_view(context, public_id)
    form = context.form
    definition = _decode_object(form.text("definition"))
    report = {**definition, "name": form.text("name"), "description": form.text("description") or None}
    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/reports",
            {"report": report},
            back=f"{view.path}/reports",
            leads_to=lambda envelope: f"{view.path}/reports/{envelope['data']['id']}",
        ),
    )


async def rename_report(context: PageContext, public_id: str, report_id: str) -> Response:
    """Change name, description and own range of a report."""
    view = await open_workspace_view(context, public_id)
    form, path = context.form, f"/reports/{parse_id_or_raise_not_found(report_id)}"
    patch: dict[str, Any] = {"name": form.text("name"), "description": form.text("description") or None}
    if form.text("own_range"):
        patch["default_range"] = _decode_object(form.text("own_range"))
    if form.text("expected_updated_at"):
        patch["expected_updated_at"] = form.text("expected_updated_at")
    own_page = f"{view.path}{path}"
    return await preview_or_save(
        view,
        FormWrite("PATCH", path, {"report": patch}, back=own_page, leads_to=lambda _: own_page),
    )


async def duplicate_report(context: PageContext, public_id: str, report_id: str) -> Response:
    """Save a copy of a report under another name."""
    view = await open_workspace_view(context, public_id)
    original = await load_report(view, report_id)
    copied = {name: original[name] for name in DEFINITION_FIELDS if original[name] is not None}
    copied |= {"description": original["description"], "default_range": original["default_range"]}
    name = context.form.text("name") or f"{original['name']} (copy)"[:MAX_NAME_LENGTH]
    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/reports",
            {"report": {**copied, "name": name}},
            back=f"{view.path}/reports/{original['id']}",
            leads_to=lambda envelope: f"{view.path}/reports/{envelope['data']['id']}",
        ),
    )


async def delete_report(context: PageContext, public_id: str, report_id: str) -> Response:
    """Delete a report; the list it leads to offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "reports", report_id)


async def load_report(view: WorkspaceView, report_id: str) -> Answer:
    """Returns a report.

    Raises:
        NotFound: there is none with this id.
    """
    return await view.get_or_not_found(f"/reports/{parse_id_or_raise_not_found(report_id)}")


async def run_report(view: WorkspaceView, report: Answer, state: ViewState) -> ApiResult:
    """Returns the run of a report over the range and with the filters of the address."""
    parts = state.query_body_parts(with_comparison=False)
    return await view.send("POST", f"/reports/{report['id']}/run", parts)


def report_card(view: WorkspaceView, report: Answer, run: ApiResult, size: str = "lg") -> Card:
    """Returns the card of a run; a run that failed is a card that says why."""
    if not run.ok:
        return message_card(report["name"], run.message, size)
    setting = build_display_context(view.context.component(Catalog), view.workspace)
    return build_report_card_by_answer_fields(run.body, report["chart"], setting, size)


def _card_with_filter_links(card: Card, run: ApiResult, state: ViewState) -> Card:
    return link_rows_to_filters(card, run.body["data"], state.filter_link) if run.ok else card


def dimensions_of_report(view: WorkspaceView, report: Answer) -> dict[str, str]:
    """Returns the dimensions that a query report can be filtered by, by id."""
    catalog = view.context.component(Catalog)
    metrics = report["plan"]["metrics"] if report["plan"] else ()
    accepted = [set(catalog.metrics[id_].dimensions) for id_ in metrics if id_ in catalog.metrics]
    shared = set.intersection(*accepted) if accepted else set()
    return {one.id: one.label for one in catalog.dimensions.values() if one.id in shared}


def _decode_object(text: str) -> dict[str, Any]:
    """Returns the JSON object of a hidden field.

    Raises:
        BadRequest: somebody changed the field.
    """
    try:
        value = CODEC.loads(text.encode())
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise BadRequest("This form is damaged. Reload the page and try again", "invalid_parameter")
    return cast(dict[str, Any], value)


def encode_object(value: object) -> str:
    """Returns a value as JSON for a hidden field."""
    return json.dumps(value, ensure_ascii=False)


PAGES: Final = (
    Page("GET /w/<public_id>/reports", list_reports),
    Page("POST /w/<public_id>/reports", create_report),
    Page("GET /w/<public_id>/reports/<report_id>", show_report),
    Page("POST /w/<public_id>/reports/<report_id>", rename_report),
    Page("POST /w/<public_id>/reports/<report_id>/duplicate", duplicate_report),
    Page("POST /w/<public_id>/reports/<report_id>/delete", delete_report),
)
