"""Analyses: the list, one text with the reports it embeds, and the form to write one."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from markupsafe import Markup
from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer, Card, message_card
from hosts.web.change_preview import FormWrite, delete_and_lead_to_list, preview_or_save
from hosts.web.concurrent_reads import gather_two_at_a_time
from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.markdown import render_untrusted_markdown
from hosts.web.page_context import Page, PageContext
from hosts.web.range_bar import DATES_ONLY, RangeBar
from hosts.web.reports import report_card
from hosts.web.saved_range import describe_saved_range, read_view_state_of_saved_object
from hosts.web.view_state import ViewState
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.errors import NotFound
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope
from service_core.workspace.analyses.models import embedded_report_ids, split_at_embeds

MAX_LISTED: Final = 50
MAX_OFFERED_REPORTS: Final = 200
MAX_DRAWN_REPORTS: Final = 20
"""Embedded reports that one view of the page runs; each costs two requests of the reader's limit."""

MAX_TITLE_LENGTH: Final = 200
MAX_BODY_LENGTH: Final = 60_000
"""Shorter than the API's limit: a form has at most 100,000 bytes."""


async def list_analyses(context: PageContext, public_id: str) -> Response:
    """Every analysis, newest first."""
    view = await open_workspace_view(context, public_id)
    answer = await view.get_or_fail("/analyses", limit=str(MAX_LISTED), cursor=request.args.get("cursor", ""))
    names = await view.names_of_creators(*answer["analyses"])
    return await view.render(
        "analyses.html",
        analyses=[(one, view.creator_label(one["created_by"], names)) for one in answer["analyses"]],
        following=answer["next_cursor"],
        may_write=view.may(Scope.WRITE_REPORTS),
    )


async def show_analysis(context: PageContext, public_id: str, analysis_id: str) -> Response:
    """The text with its reports, each over the range of the analysis or else its own."""
    view = await open_workspace_view(context, public_id)
    analysis = await load_analysis(view, analysis_id)
    has_range = bool(analysis["date_range"]) or bool({"range", "from"} & request.args.keys())
    state = read_view_state_of_saved_object(analysis["date_range"] or {}, view)
    names = await view.names_of_creators(analysis)
    return await view.render(
        "analysis.html",
        analysis=analysis,
        parts=await _texts_with_cards(view, analysis["body_md"], state if has_range else None),
        bar=RangeBar(state, f"{context.base}{view.path}/analyses/{analysis['id']}", {}, DATES_ONLY),
        has_range=has_range,
        creator=view.creator_label(analysis["created_by"], names),
        may_write=view.may(Scope.WRITE_REPORTS),
    )


async def show_new_analysis(context: PageContext, public_id: str) -> Response:
    """The empty form."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    return await _editor_page(view, None, {"once": new_token()})


async def show_analysis_editor(context: PageContext, public_id: str, analysis_id: str) -> Response:
    """The form with a stored analysis."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    analysis = await load_analysis(view, analysis_id)
    return await _editor_page(view, analysis["id"], _values_of_analysis(analysis))


async def create_analysis(context: PageContext, public_id: str) -> Response:
    """Save a new analysis."""
    view = await open_workspace_view(context, public_id)

    async def render_form(result: ApiResult | None) -> Response:
        return await _editor_page(view, None, _values_of_form(view), result)

    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/analyses",
            {"analysis": _analysis_of_form(view)},
            back=f"{view.path}/analyses",
            leads_to=lambda envelope: f"{view.path}/analyses/{envelope['data']['id']}",
            render_form=render_form,
            rendering=_rendered_form_body(view),
        ),
    )


async def change_analysis(context: PageContext, public_id: str, analysis_id: str) -> Response:
    """Change title, text and range of an analysis."""
    view = await open_workspace_view(context, public_id)
    own_id = str(parse_id_or_raise_not_found(analysis_id))
    own_page = f"{view.path}/analyses/{own_id}"
    version = context.form.text("expected_updated_at")
    patch = {**_analysis_of_form(view), **({"expected_updated_at": version} if version else {})}

    async def render_form(result: ApiResult | None) -> Response:
        return await _editor_page(view, own_id, _values_of_form(view), result)

    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            f"/analyses/{own_id}",
            {"analysis": patch},
            back=own_page,
            leads_to=lambda _: own_page,
            render_form=render_form,
            rendering=_rendered_form_body(view),
        ),
    )


async def delete_analysis(context: PageContext, public_id: str, analysis_id: str) -> Response:
    """Delete an analysis; the list it leads to offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "analyses", analysis_id)


async def load_analysis(view: WorkspaceView, analysis_id: str) -> Answer:
    """Returns an analysis.

    Raises:
        NotFound: there is none with this id.
    """
    return await view.get_or_not_found(f"/analyses/{parse_id_or_raise_not_found(analysis_id)}")


async def _texts_with_cards(
    view: WorkspaceView, body_md: str, state: ViewState | None
) -> list[tuple[Markup, Card | None]]:
    """Returns the text with cards in the place of the lines that embed reports.

    Args:
        view: the workspace.
        body_md: of the analysis.
        state: the range of all reports; None for the range of each.
    """
    ids = [*dict.fromkeys(embedded_report_ids(body_md))]
    drawn = await gather_two_at_a_time(
        partial(_card_of_report, view, id_, state) for id_ in ids[:MAX_DRAWN_REPORTS]
    )
    cards = dict(zip(ids, drawn, strict=False))
    beyond = message_card("A report", f"Only the first {MAX_DRAWN_REPORTS} reports are drawn here.", "lg")
    return [
        (
            await asyncio.to_thread(render_untrusted_markdown, text),
            None if id_ is None else cards.get(id_, beyond),
        )
        for text, id_ in split_at_embeds(body_md)
    ]


async def _card_of_report(view: WorkspaceView, report_id: str, state: ViewState | None) -> Card:
    report = await view.get(f"/reports/{report_id}")
    if report.status == NotFound.status:
        return message_card("A report", "This report was deleted.", "lg")
    if not report.ok:
        return message_card("A report", report.message, "lg")
    body = {} if state is None else {"date_range": state.query_body_parts()["date_range"]}
    run = await view.send("POST", f"/reports/{report_id}/run", body)
    covers = "" if state is not None else describe_saved_range(report.body["default_range"])
    return replace(report_card(view, report.body, run), covers=covers or None)


async def _editor_page(
    view: WorkspaceView, analysis_id: str | None, values: Mapping[str, str], result: ApiResult | None = None
) -> Response:
    """Returns the form.

    Args:
        view: the workspace.
        analysis_id: None for a new analysis.
        values: of the fields.
        result: the error that refused what was typed.
    """
    answer = await view.get_or_fail("/reports", limit=str(MAX_OFFERED_REPORTS))
    return await view.render(
        "analysis_editor.html",
        result.status if result else 200,
        analysis_id=analysis_id,
        values=values,
        refused=result.refusal_message if result else None,
        offered=answer["reports"],
        max_title=MAX_TITLE_LENGTH,
        max_body=MAX_BODY_LENGTH,
    )


def _values_of_analysis(analysis: Answer) -> dict[str, str]:
    return {
        "title": analysis["title"],
        "body_md": analysis["body_md"],
        "expected_updated_at": analysis["updated_at"],
    }


def _values_of_form(view: WorkspaceView) -> dict[str, str]:
    form = view.context.form
    names = ("title", "expected_updated_at", "once")
    return {**{name: form.text(name) for name in names}, "body_md": _body_with_added_report(view)}


def _analysis_of_form(view: WorkspaceView) -> dict[str, Any]:
    """Returns the fields of the API; the embedded reports follow from the text."""
    body_md = _body_with_added_report(view)
    return {
        "title": view.context.form.text("title"),
        "body_md": body_md,
        "report_ids": [*dict.fromkeys(embedded_report_ids(body_md))],
    }


def _body_with_added_report(view: WorkspaceView) -> str:
    """Returns the text that was typed, with the report that was chosen to be added at its end."""
    body_md = view.context.form.raw("body_md").replace("\r\n", "\n")
    added = view.context.form.text("add_report")
    line = f"::report[{added}]"
    return body_md if not added or line in body_md.split("\n") else f"{body_md.rstrip()}\n\n{line}\n"


def _rendered_form_body(view: WorkspaceView) -> Markup:
    """Returns the text as it will look; a report is named by the line that embeds it."""
    return render_untrusted_markdown(_body_with_added_report(view))


PAGES: Final = (
    Page("GET /w/<public_id>/analyses", list_analyses),
    Page("POST /w/<public_id>/analyses", create_analysis),
    Page("GET /w/<public_id>/analyses/new", show_new_analysis),
    Page("GET /w/<public_id>/analyses/<analysis_id>", show_analysis),
    Page("POST /w/<public_id>/analyses/<analysis_id>", change_analysis),
    Page("GET /w/<public_id>/analyses/<analysis_id>/edit", show_analysis_editor),
    Page("POST /w/<public_id>/analyses/<analysis_id>/delete", delete_analysis),
)
