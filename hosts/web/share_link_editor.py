"""Changing what the public page of an active share link offers: ranges, workspace name and sites that embed it."""

from typing import Any, Final

from quart import Response

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer
from hosts.web.change_preview import FormWrite, preview_or_save
from hosts.web.forms import FormFields, parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from hosts.web.public_pages import label_of_preset
from hosts.web.share_links import OFFERED_RANGES
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.errors import NotFound
from service_core.kernel.operations import Scope

_LISTED_AT_ONCE: Final = 100
_LABELS: Final = {
    "show_workspace_name": "Show the workspace name",
    "allowed_ranges": "Date ranges viewers can choose",
    "embed_hosts": "Sites allowed to embed the page",
}


async def show_share_link(context: PageContext, public_id: str, link_id: str) -> Response:
    """The form of an active link; a closed one only says so."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    link = await _load_share_link(view, link_id)
    return await _share_link_page(view, link, _fields_of_link(link))


async def change_share_link(context: PageContext, public_id: str, link_id: str) -> Response:
    """Change ranges, workspace name and embedding sites; address and password stay."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    link = await _load_share_link(view, link_id)
    own_page = f"{view.path}/shared/{link['id']}/edit"
    fields = _fields_of_form(context.form)

    async def render_form(result: ApiResult | None) -> Response:
        return await _share_link_page(view, link, fields, result)

    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            f"/share-links/{link['id']}",
            {"share_link": fields},
            back=own_page,
            leads_to=lambda _: own_page,
            render_form=render_form,
            labels=_LABELS,
        ),
    )


async def _load_share_link(view: WorkspaceView, link_id: str) -> Answer:
    """Returns a link of the list, which has no request for a single one.

    Raises:
        NotFound: the list has no such link.
    """
    wanted, cursor = str(parse_id_or_raise_not_found(link_id)), ""
    while True:
        page = await view.get_or_fail("/share-links", limit=str(_LISTED_AT_ONCE), cursor=cursor)
        found: list[Answer] = [link for link in page["share_links"] if link["id"] == wanted]
        if found:
            return found[0]
        cursor = page["next_cursor"] or ""
        if not cursor:
            raise NotFound


async def _share_link_page(
    view: WorkspaceView, link: Answer, fields: dict[str, Any], result: ApiResult | None = None
) -> Response:
    offered = dict.fromkeys((*OFFERED_RANGES, *fields["allowed_ranges"]))
    return await view.render(
        "share_link.html",
        result.status if result else 200,
        link=link,
        fields=fields,
        ranges=[(name, label_of_preset(name)) for name in offered],
        refused=result.refusal_message if result else None,
    )


def _fields_of_link(link: Answer) -> dict[str, Any]:
    return {name: link[name] for name in _LABELS}


def _fields_of_form(form: FormFields) -> dict[str, Any]:
    return {
        "show_workspace_name": bool(form.text("named")),
        "allowed_ranges": form.all("range"),
        "embed_hosts": form.text("embed").split(),
    }


PAGES: Final = (
    Page("GET /w/<public_id>/shared/<link_id>/edit", show_share_link),
    Page("POST /w/<public_id>/shared/<link_id>/edit", change_share_link),
)
