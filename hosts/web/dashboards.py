"""Dashboards: the list, one dashboard over any range, and editing its cards by plain forms."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from quart import Response, request

from hosts.web.annotations import read_annotations
from hosts.web.api_client import ApiResult
from hosts.web.cards.annotations import mark_annotations
from hosts.web.cards.card import Answer, Card, message_card
from hosts.web.cards.json_values import build_display_context
from hosts.web.cards.outcomes import build_outcome_card
from hosts.web.change_preview import FormWrite, delete_and_lead_to_list, preview_or_save
from hosts.web.dashboard_layout import (
    SIZE_LABELS,
    moved_report_ids,
    read_changed_cards,
    report_ids_with_card_at,
)
from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from hosts.web.range_bar import FILTERS_ONLY, RangeBar
from hosts.web.report_links import link_report_numbers
from hosts.web.reports import MAX_NAME_LENGTH
from hosts.web.saved_range import (
    describe_saved_range,
    expand_short_preset,
    read_view_state_of_saved_object,
)
from hosts.web.view_state import ViewState
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope

MAX_LISTED: Final = 50
MAX_OFFERED_REPORTS: Final = 500
_MOVES: Final[Mapping[str, int]] = {"up": -1, "down": 1}


async def list_dashboards(context: PageContext, public_id: str) -> Response:
    """Every dashboard, newest first, and the form for a new one."""
    view = await open_workspace_view(context, public_id)
    answer = await view.get_or_fail(
        "/dashboards", limit=str(MAX_LISTED), cursor=request.args.get("cursor", "")
    )
    names = await view.names_of_creators(*answer["dashboards"])
    return await view.render(
        "dashboards.html",
        dashboards=[
            (one, view.creator_label(one["created_by"], names), describe_saved_range(one["date_range"]))
            for one in answer["dashboards"]
        ],
        following=answer["next_cursor"],
        may_write=view.may(Scope.WRITE_REPORTS),
        once=new_token(),
        max_name=MAX_NAME_LENGTH,
    )


async def show_dashboard(context: PageContext, public_id: str, dashboard_id: str) -> Response:
    """The cards of a dashboard over its own range or the one in the address; with ``edit`` the forms of each."""
    view = await open_workspace_view(context, public_id)
    dashboard = await load_dashboard(view, dashboard_id)
    state = read_view_state_of_saved_object(
        dashboard["date_range"], view, dashboard["filters"], page_parameters=("edit",)
    )
    reports = await load_reports_by_id(view)
    run, marked = await gather_or_cancel(
        _run_dashboard(view, dashboard, state), read_annotations(view, state)
    )
    editing = view.may(Scope.WRITE_REPORTS) and bool(request.args.get("edit"))
    shown_ids = {card["report_id"] for card in dashboard["layout"]["cards"]}
    return await view.render(
        "dashboard.html",
        dashboard=dashboard,
        state=state,
        bar=RangeBar(
            state,
            f"{context.base}{view.path}/dashboards/{dashboard['id']}",
            {one.id: one.label for one in context.component(Catalog).dimensions.values()},
            FILTERS_ONLY,
        ),
        failure=None if run.ok else run.message,
        partial=run.ok and run.body["partial"],
        cards=[
            (place, mark_annotations(card, marked, view.workspace.zone))
            for place, card in (_cards_with_layout(view, dashboard, reports, run, state) if run.ok else [])
        ],
        own_range=describe_saved_range(dashboard["date_range"]),
        offers_shown_view=_shows_other_view(dashboard, state) and _can_keep_view(state),
        offered=[one for id_, one in reports.items() if id_ not in shown_ids] if editing else [],
        sizes=SIZE_LABELS,
        editing=editing,
        may_write=view.may(Scope.WRITE_REPORTS),
        max_name=MAX_NAME_LENGTH,
    )


async def create_dashboard(context: PageContext, public_id: str) -> Response:
    """Create an empty dashboard, and go on to edit it."""
    view = await open_workspace_view(context, public_id)
    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/dashboards",
            {"dashboard": {"name": context.form.text("name")}},
            back=f"{view.path}/dashboards",
            leads_to=lambda envelope: f"{view.path}/dashboards/{envelope['data']['id']}?edit=1",
        ),
    )


async def change_dashboard(context: PageContext, public_id: str, dashboard_id: str) -> Response:
    """Change the name of a dashboard, and keep the range and filters that are shown as its own."""
    view = await open_workspace_view(context, public_id)
    dashboard = await load_dashboard(view, dashboard_id)
    patch: dict[str, Any] = {"name": context.form.text("name")}
    if context.form.text("keep_view"):
        state = read_view_state_of_saved_object(dashboard["date_range"], view, dashboard["filters"])
        parts = state.query_body_parts(with_comparison=False)
        patch |= {"date_range": parts["date_range"], "filters": parts["filters"]}
    return await _patch_dashboard(view, dashboard, patch)


async def change_cards(context: PageContext, public_id: str, dashboard_id: str) -> Response:
    """Add, move, resize or remove a card.

    Raises:
        NotFound: the dashboard has no such card, or the form no such button.
    """
    view = await open_workspace_view(context, public_id)
    dashboard = await load_dashboard(view, dashboard_id)
    form, cards = context.form, dashboard["layout"]["cards"]
    operation, report_id = form.text("op"), str(parse_id_or_raise_not_found(form.text("report_id")))
    if operation in (*_MOVES, "move"):
        order = (
            report_ids_with_card_at(cards, report_id, form.integer("position"))
            if operation == "move"
            else moved_report_ids(cards, report_id, _MOVES[operation])
        )
        path = f"/dashboards/{dashboard['id']}/reorder"
        return await _write_dashboard(view, dashboard, "POST", path, {"report_ids": order, **_expected(view)})
    changed = read_changed_cards(cards, operation, report_id, form.text("size"))
    return await _patch_dashboard(view, dashboard, {"layout": {"v": 1, "cards": changed}})


async def delete_dashboard(context: PageContext, public_id: str, dashboard_id: str) -> Response:
    """Delete a dashboard; the list it leads to offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "dashboards", dashboard_id)


async def load_dashboard(view: WorkspaceView, dashboard_id: str) -> Answer:
    """Returns a dashboard.

    Raises:
        NotFound: there is none with this id.
    """
    return await view.get_or_not_found(f"/dashboards/{parse_id_or_raise_not_found(dashboard_id)}")


async def _run_dashboard(view: WorkspaceView, dashboard: Answer, state: ViewState) -> ApiResult:
    overrides = state.query_body_parts(with_comparison=False)
    return await view.send("POST", f"/dashboards/{dashboard['id']}/run", {"overrides": overrides})


def _shows_other_view(dashboard: Answer, state: ViewState) -> bool:
    """Whether the page shows another range or other filters than the dashboard opens with."""
    parts = state.query_body_parts(with_comparison=False)
    return expand_short_preset(dashboard["date_range"]) != parts["date_range"] or _comparable_filters(
        dashboard["filters"]
    ) != _comparable_filters(parts["filters"])


def _comparable_filters(filters: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return [(one["dimension"], one.get("op", "eq"), one.get("value")) for one in filters]


def _can_keep_view(state: ViewState) -> bool:
    """Whether a dashboard can have the filters that are shown: its own compare with one value each."""
    return all(one.body["op"] == "eq" for one in state.filters)


async def load_reports_by_id(view: WorkspaceView) -> dict[str, Answer]:
    """Returns the saved reports by their ids."""
    answer = await view.get_or_fail("/reports", limit=str(MAX_OFFERED_REPORTS))
    return {report["id"]: report for report in answer["reports"]}


def _cards_with_layout(
    view: WorkspaceView, dashboard: Answer, reports: Mapping[str, Answer], run: ApiResult, state: ViewState
) -> list[tuple[Answer, Card]]:
    """Returns each card of the layout with its drawing."""
    catalog = view.context.component(Catalog)
    setting = build_display_context(catalog, view.workspace)
    outcomes = {outcome["report_id"]: outcome for outcome in run.body["cards"]}
    cards = []
    for card in dashboard["cards"]:
        outcome, summary = outcomes.get(card["report_id"]), card["report"]
        name = summary["name"] if summary else None
        report = reports.get(card["report_id"], {})
        drawing = (
            message_card(name or "A report", "This card was just added. Reload the page.", card["size"])
            if outcome is None
            else build_outcome_card(outcome, name, report.get("chart"), setting, card["size"])
        )
        if report and outcome is not None and outcome["result"] is not None:
            drawing = link_report_numbers(
                drawing,
                report,
                outcome["result"],
                state=state,
                catalog=catalog,
                pages=f"{view.context.base}{view.path}",
            )
        cards.append((card, drawing))
    return cards


async def _patch_dashboard(view: WorkspaceView, dashboard: Answer, patch: Mapping[str, Any]) -> Response:
    path = f"/dashboards/{dashboard['id']}"
    return await _write_dashboard(view, dashboard, "PATCH", path, {"dashboard": {**patch, **_expected(view)}})


async def _write_dashboard(
    view: WorkspaceView, dashboard: Answer, method: str, path: str, body: Mapping[str, Any]
) -> Response:
    own_page = f"{view.path}/dashboards/{dashboard['id']}?edit=1"
    return await preview_or_save(
        view, FormWrite(method, path, body, back=own_page, leads_to=lambda _: own_page)
    )


def _expected(view: WorkspaceView) -> dict[str, str]:
    """Returns the version that the page of the form showed, if it says so."""
    version = view.context.form.text("expected_updated_at")
    return {"expected_updated_at": version} if version else {}


PAGES: Final = (
    Page("GET /w/<public_id>/dashboards", list_dashboards),
    Page("POST /w/<public_id>/dashboards", create_dashboard),
    Page("GET /w/<public_id>/dashboards/<dashboard_id>", show_dashboard),
    Page("POST /w/<public_id>/dashboards/<dashboard_id>", change_dashboard),
    Page("POST /w/<public_id>/dashboards/<dashboard_id>/cards", change_cards),
    Page("POST /w/<public_id>/dashboards/<dashboard_id>/delete", delete_dashboard),
)
