"""A workspace at a glance: its numbers for members and for whoever holds a key, drawn on the server."""

import json
from dataclasses import replace
from typing import Final
from zoneinfo import ZoneInfo

from quart import Response, render_template, request

from hosts.web.annotations import read_annotations
from hosts.web.api_client import ApiClient, ApiResult, KeyClient
from hosts.web.cards.annotations import mark_annotations
from hosts.web.cards.card import DisplayContext
from hosts.web.cards.json_values import build_display_context, build_display_context_for
from hosts.web.overview_data import OverviewReader
from hosts.web.overview_tabs import PAGE_PARAMETERS, filterable_dimensions, list_tab_groups
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import uncached_page_headers
from hosts.web.range_bar import RangeBar
from hosts.web.segment_menu import add_segment_dimensions
from hosts.web.view_state import read_view_state
from hosts.web.workspace_view import open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.async_gather import gather_or_cancel


async def redirect_to_workspace_or_show_home(context: PageContext) -> Response:
    """Whoever is signed in goes on to a workspace; anybody else may look with a key, in the browser alone."""
    if context.visitor.account is None:
        return await context.render_page("home.html")
    known = await context.list_memberships()
    return context.redirect_to(f"/w/{known[0][0].public_id}" if len(known) == 1 else "/workspaces")


async def render_workspace_overview(context: PageContext, public_id: str) -> Response:
    """Totals, their course, and where people come from; with ``part`` in the query one card of them."""
    view = await open_workspace_view(context, public_id)
    setting = build_display_context(context.component(Catalog), view.workspace)
    values = f"{context.base}/w/{public_id}/filter-values"
    reader = await _overview_reader(context, view, setting, values, f"{context.base}{view.path}")
    details = f"{context.base}/w/{public_id}/details/"
    part = await _render_part_or_none(reader, details)
    if part is not None:
        return Response(part, 200, uncached_page_headers(), mimetype="text/html")
    page, marked, bar = await gather_or_cancel(
        reader.load_page(), read_annotations(view, reader.state), view.add_segment_menu(reader.bar)
    )
    return await view.render(
        "workspace_overview.html",
        page=replace(page, bar=bar, chart=mark_annotations(page.chart, marked, setting.zone)),
        details=details,
    )


async def render_overview_with_api_key(context: PageContext) -> Response:
    """The same for whoever holds a key: asked of the API with it, within its budget, as any program asks."""
    client = KeyClient(context, request.headers.get("Authorization", ""))
    known = await client.get("/workspace")
    if not known.ok:
        return _pass_on_error(context, known)
    zone = ZoneInfo(known.body["timezone"])
    setting = build_display_context_for(context.component(Catalog), zone, known.body["currency"])
    page = await (await _overview_reader(context, client, setting)).load_page()
    if page.failure is not None:
        return _pass_on_error(context, page.failure)
    body = await render_template("key_overview.html", name=known.body["name"], page=page)
    return Response(body, 200, uncached_page_headers(), mimetype="text/html")


def _pass_on_error(context: PageContext, result: ApiResult) -> Response:
    return context.json_response(json.dumps(result.body), result.status)


async def _overview_reader(
    context: PageContext,
    client: ApiClient,
    setting: DisplayContext,
    values_address: str = "",
    pages: str = "",
) -> OverviewReader:
    catalog = context.component(Catalog)
    state = read_view_state(request.args, setting.zone, context.clock(), PAGE_PARAMETERS)
    state = await add_segment_dimensions(client, state)
    bar = RangeBar(state, "", filterable_dimensions(catalog), values_address=values_address)
    return OverviewReader(client, catalog, setting, bar, pages)


async def _render_part_or_none(reader: OverviewReader, details: str) -> str | None:
    """The card that ``part`` names, for a script that replaces it; None when it names none."""
    wanted = request.args.get("part", "")
    group = next((one for one in list_tab_groups(reader.catalog) if one.id == wanted), None)
    if group is None:
        return None
    return await render_template("overview_card.html", one=await reader.load_card(group), details=details)


PAGES: Final = (
    Page("GET /", redirect_to_workspace_or_show_home),
    Page("GET /look", render_overview_with_api_key, is_public=True),
    Page("GET /w/<public_id>", render_workspace_overview),
)
