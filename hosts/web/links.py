"""Trackable links: the table with what each one brought, one link with its QR code, and the form."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer, DisplayContext
from hosts.web.cards.json_values import build_display_context
from hosts.web.change_preview import FormWrite, delete_and_lead_to_list, preview_or_save
from hosts.web.link_form import (
    UTM_LABELS,
    LinkDomainChoice,
    link_of_form,
    list_link_domains,
    values_of_form,
    values_of_link,
)
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import uncached_page_headers
from hosts.web.range_bar import DATES_ONLY, RangeBar
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.errors import NotFound
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope

RESULT_METRICS: Final = ("visitors", "conversions", "attributed_revenue")
"""What visits of a link brought, in the columns of the table."""

MAX_RESULT_ROWS: Final = 1000
MAX_LISTED: Final = 200
MAX_SEARCH_LENGTH: Final = 200


@dataclass(frozen=True, slots=True)
class LinkResults:
    """What visits through links brought within a range.

    Attributes:
        columns: names of the metrics.
        values: tracking identifier -> the values in words.
        fallback: the values of a link without a visit.
        problem: why there are none; empty if there are.
    """

    columns: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    fallback: tuple[str, ...]
    problem: str = ""

    def of(self, link: Answer) -> tuple[str, ...]:
        """Returns the values of a link."""
        return self.values.get(link["tracking_identifier"], self.fallback)


async def list_links(context: PageContext, public_id: str) -> Response:
    """Links, newest first, with clicks and what their visits brought in the range."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now, ("find",))
    links = (await view.get_or_fail("/links"))["links"]
    searched = dict(state.page_parameters).get("find", "").strip()[:MAX_SEARCH_LENGTH]
    found = [link for link in links if _matches(link, searched)]
    return await view.render(
        "links.html",
        bar=RangeBar(state, f"{context.base}{view.path}/links", {}, DATES_ONLY),
        links=found[:MAX_LISTED],
        found_count=len(found),
        total_count=len(links),
        searched=searched,
        results=await _load_results(view, state),
        may_write=view.may(Scope.WRITE_LINKS),
    )


async def show_link(context: PageContext, public_id: str, link_id: str) -> Response:
    """One link: its address, QR code, clicks and results, and the form to change it."""
    view = await open_workspace_view(context, public_id)
    link = await load_link(view, link_id)
    return await _link_page(view, link, values_of_link(link))


async def show_new_link(context: PageContext, public_id: str) -> Response:
    """The empty form."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_LINKS)
    return await _new_link_page(view, {"once": new_token(), "kind": "redirect"})


async def create_link(context: PageContext, public_id: str) -> Response:
    """Create a link."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_LINKS)
    domains = await list_link_domains(view)

    async def render_form(result: ApiResult | None) -> Response:
        return await _new_link_page(view, values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/links",
            {"link": link_of_form(context.form, domains)},
            back=f"{view.path}/links",
            leads_to=lambda envelope: f"{view.path}/links/{envelope['data']['id']}",
            render_form=render_form,
        ),
    )


async def change_link(context: PageContext, public_id: str, link_id: str) -> Response:
    """Change destination, name and campaign values; the redirect follows immediately."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_LINKS)
    link = await load_link(view, link_id)
    own_page = f"{view.path}/links/{link['id']}"

    async def render_form(result: ApiResult | None) -> Response:
        return await _link_page(view, link, values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            f"/links/{link['id']}",
            {"link": link_of_form(context.form)},
            back=own_page,
            leads_to=lambda _: own_page,
            render_form=render_form,
        ),
    )


async def delete_link(context: PageContext, public_id: str, link_id: str) -> Response:
    """Archive a link: it stops redirecting, its clicks stay, and the list offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "links", link_id)


async def send_qr_code(context: PageContext, public_id: str, link_id: str, image_format: str) -> Response:
    """The QR code of a link as an image."""
    from hosts.web.qr_codes import QrFormat, draw_qr_code  # noqa: PLC0415 - loaded with the first code

    view = await open_workspace_view(context, public_id)
    link = await load_link(view, link_id)
    chosen: QrFormat | None = next((one for one in get_args(QrFormat) if one == image_format), None)
    if chosen is None or link["url"] is None:
        raise NotFound
    types = {"svg": "image/svg+xml", "png": "image/png"}
    headers = uncached_page_headers()
    if request.args.get("download"):
        headers |= {"Content-Disposition": f'attachment; filename="{_file_name(link)}.{chosen}"'}
    image = await asyncio.to_thread(draw_qr_code, link["url"], chosen)
    return Response(image, 200, headers, mimetype=types[chosen])


async def load_link(view: WorkspaceView, link_id: str) -> Answer:
    """Returns a link of the workspace.

    Raises:
        NotFound: there is none with this id.
    """
    return await view.get_listed_or_not_found("links", link_id)


async def _link_page(
    view: WorkspaceView, link: Answer, values: Mapping[str, str], result: ApiResult | None = None
) -> Response:
    state = read_view_state(request.args, view.workspace.zone, view.caller.now)
    address = f"{view.context.base}{view.path}/links/{link['id']}"
    return await view.render(
        "link.html",
        result.status if result else 200,
        link=link,
        values=values,
        refused=result.refusal_message if result else None,
        bar=RangeBar(state, address, {}, DATES_ONLY),
        state=state,
        results=await _load_results(view, state),
        utm_labels=UTM_LABELS,
        may_write=view.may(Scope.WRITE_LINKS),
    )


async def _new_link_page(
    view: WorkspaceView, values: Mapping[str, str], result: ApiResult | None = None
) -> Response:
    domains: list[LinkDomainChoice] = await list_link_domains(view)
    return await view.render(
        "link_editor.html",
        result.status if result else 200,
        values=values,
        refused=result.refusal_message if result else None,
        domains=domains,
        utm_labels=UTM_LABELS,
    )


async def _load_results(view: WorkspaceView, state: ViewState) -> LinkResults:
    """Returns the results of every link from one query; a failure says why instead of showing zeros."""
    setting = build_display_context(view.context.component(Catalog), view.workspace)
    columns = tuple(setting.label(id_) for id_ in RESULT_METRICS)
    body = {
        "metrics": [*RESULT_METRICS],
        "dimensions": ["lyr"],
        "filters": [{"dimension": "lyr", "op": "is_set"}],
        "limit": MAX_RESULT_ROWS,
        **{name: value for name, value in state.query_body_parts().items() if name == "date_range"},
    }
    result = await view.send("POST", "/query", body)
    if not result.ok:
        return LinkResults(columns, {}, ("—",) * len(columns), result.message)
    units = {column["id"]: column.get("unit", "count") for column in result.body["columns"]}
    unknown = {one["metric"] for one in result.body["meta"]["unavailable"]}
    fallback = {
        id_: None if id_ in unknown or result.body["meta"]["truncated"] else 0 for id_ in RESULT_METRICS
    }
    return LinkResults(
        columns,
        {row["lyr"]: _format_row(row, units, setting) for row in result.body["rows"]},
        _format_row(fallback, units, setting),
    )


def _format_row(row: Mapping[str, Any], units: Mapping[str, str], setting: DisplayContext) -> tuple[str, ...]:
    return tuple(
        setting.format_for(units[id_], id_).format_in_full_or_dash(row[id_]) for id_ in RESULT_METRICS
    )


def _matches(link: Answer, searched: str) -> bool:
    texts = (link["name"], link["url"], link["destination_url"], link["utm_campaign"])
    return any(searched.casefold() in text.casefold() for text in texts if text)


def _file_name(link: Answer) -> str:
    """Returns the name of the downloaded image; the identifier has letters and digits alone."""
    return f"qr-{link['tracking_identifier']}"


PAGES: Final = (
    Page("GET /w/<public_id>/links", list_links),
    Page("POST /w/<public_id>/links", create_link),
    Page("GET /w/<public_id>/links/new", show_new_link),
    Page("GET /w/<public_id>/links/<link_id>", show_link),
    Page("POST /w/<public_id>/links/<link_id>", change_link),
    Page("GET /w/<public_id>/links/<link_id>/qr/<image_format>", send_qr_code),
    Page("POST /w/<public_id>/links/<link_id>/delete", delete_link),
)
