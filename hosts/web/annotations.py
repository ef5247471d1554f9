"""Annotations: the list, the form of one, and those that charts of other pages mark."""

from collections.abc import Mapping
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.annotations import LoadedAnnotations, annotation_instant
from hosts.web.cards.card import Answer
from hosts.web.change_preview import FormWrite, delete_and_lead_to_list, preview_or_save
from hosts.web.forms import FormFields, parse_id_or_raise_not_found
from hosts.web.local_dates import format_local_date
from hosts.web.page_context import Page, PageContext
from hosts.web.view_state import ViewState
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope
from service_core.kernel.wall_clock import local_date

MAX_LISTED: Final = 100
MAX_MARKED: Final = 500
MAX_TEXT_LENGTH: Final = 200
_FIELDS: Final = ("text", "date", "time", "visibility", "once")


async def list_annotations(context: PageContext, public_id: str) -> Response:
    """Every annotation that the person can see, newest first."""
    view = await open_workspace_view(context, public_id)
    answer = await view.get_or_fail(
        "/annotations", limit=str(MAX_LISTED), cursor=request.args.get("cursor", "")
    )
    names = await view.names_of_creators(*answer["annotations"])
    return await view.render(
        "annotations.html",
        annotations=[
            (one, _day_in_words(view, one), view.creator_label(one["created_by"], names))
            for one in answer["annotations"]
        ],
        following=answer["next_cursor"],
        may_write=view.may(Scope.WRITE_REPORTS),
    )


async def show_annotation(context: PageContext, public_id: str, annotation_id: str) -> Response:
    """One annotation and the form to change it."""
    view = await open_workspace_view(context, public_id)
    annotation = await load_annotation(view, annotation_id)
    return await _annotation_page(view, annotation, _values_of_annotation(annotation))


async def show_new_annotation(context: PageContext, public_id: str) -> Response:
    """The form of a new annotation, of today or of the day in the address."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    today = local_date(view.caller.now, view.workspace.zone).isoformat()
    values = {"once": new_token(), "date": request.args.get("date", today)[:10], "visibility": "workspace"}
    return await _new_annotation_page(view, values)


async def create_annotation(context: PageContext, public_id: str) -> Response:
    """Create an annotation."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)

    async def render_form(result: ApiResult | None) -> Response:
        return await _new_annotation_page(view, _values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/annotations",
            {"annotation": _annotation_of_form(context.form)},
            back=f"{view.path}/annotations",
            leads_to=lambda _: f"{view.path}/annotations",
            render_form=render_form,
        ),
    )


async def change_annotation(context: PageContext, public_id: str, annotation_id: str) -> Response:
    """Change text, day, time and visibility of an annotation."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    annotation = await load_annotation(view, annotation_id)
    own_page = f"{view.path}/annotations/{annotation['id']}"
    version = context.form.text("expected_updated_at")
    patch = _annotation_of_form(context.form) | ({"expected_updated_at": version} if version else {})

    async def render_form(result: ApiResult | None) -> Response:
        return await _annotation_page(view, annotation, _values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            f"/annotations/{annotation['id']}",
            {"annotation": patch},
            back=own_page,
            leads_to=lambda _: f"{view.path}/annotations",
            render_form=render_form,
        ),
    )


async def delete_annotation(context: PageContext, public_id: str, annotation_id: str) -> Response:
    """Delete an annotation; the list it leads to offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "annotations", annotation_id)


async def load_annotation(view: WorkspaceView, annotation_id: str) -> Answer:
    """Returns an annotation.

    Raises:
        NotFound: there is none with this id that the person can see.
    """
    return await view.get_or_not_found(f"/annotations/{parse_id_or_raise_not_found(annotation_id)}")


async def read_annotations(view: WorkspaceView, state: ViewState) -> LoadedAnnotations:
    """Returns the annotations of the range of a page; a failed read says why."""
    result = await view.get("/annotations", limit=str(MAX_MARKED), **state.date_parameters())
    if not result.ok:
        return LoadedAnnotations(problem=result.message)
    return LoadedAnnotations(result.body["annotations"])


async def _annotation_page(
    view: WorkspaceView, annotation: Answer, values: Mapping[str, str], result: ApiResult | None = None
) -> Response:
    names = await view.names_of_creators(annotation)
    return await view.render(
        "annotation.html",
        result.status if result else 200,
        annotation=annotation,
        day=_day_in_words(view, annotation),
        creator=view.creator_label(annotation["created_by"], names),
        values=values,
        refused=result.refusal_message if result else None,
        may_write=view.may(Scope.WRITE_REPORTS),
        max_text=MAX_TEXT_LENGTH,
    )


async def _new_annotation_page(
    view: WorkspaceView, values: Mapping[str, str], result: ApiResult | None = None
) -> Response:
    return await view.render(
        "annotation_editor.html",
        result.status if result else 200,
        values=values,
        refused=result.refusal_message if result else None,
        max_text=MAX_TEXT_LENGTH,
    )


def _day_in_words(view: WorkspaceView, annotation: Answer) -> str:
    zone = view.workspace.zone
    day = format_local_date(annotation_instant(annotation, zone), zone)
    return f"{day}, {annotation['time']}" if annotation["time"] else day


def _annotation_of_form(form: FormFields) -> dict[str, Any]:
    """Returns the fields of the API."""
    return {
        "text": form.text("text"),
        "date": form.text("date"),
        "time": form.text("time") or None,
        "visibility": form.text("visibility") or "workspace",
    }


def _values_of_form(form: FormFields) -> dict[str, str]:
    """Returns what was typed."""
    return {name: form.text(name) for name in _FIELDS}


def _values_of_annotation(annotation: Answer) -> dict[str, str]:
    """Returns what the form of a stored annotation starts with."""
    return {name: annotation.get(name) or "" for name in _FIELDS}


PAGES: Final = (
    Page("GET /w/<public_id>/annotations", list_annotations),
    Page("POST /w/<public_id>/annotations", create_annotation),
    Page("GET /w/<public_id>/annotations/new", show_new_annotation),
    Page("GET /w/<public_id>/annotations/<annotation_id>", show_annotation),
    Page("POST /w/<public_id>/annotations/<annotation_id>", change_annotation),
    Page("POST /w/<public_id>/annotations/<annotation_id>/delete", delete_annotation),
)
