"""Writes of forms: "Preview" shows the dry run, saving leads to a page with the note "Saved · Undo"."""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

from markupsafe import Markup
from quart import Response

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer
from hosts.web.forms import parse_id_or_raise_not_found
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import safe_redirect_path_or_root
from hosts.web.saved_note import saved_note_parameter
from hosts.web.value_words import spell_out
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.errors import NotFound

_FORM_FIELDS: Final = ("csrf", "action")
_HIDDEN_CHANGES: Final = (
    "id",
    "workspace_id",
    "created_at",
    "created_by",
    "created_via",
    "updated_at",
    "deleted_at",
)
_MAX_VALUE_LENGTH: Final = 600

ACTION_TITLES: Final[Mapping[str, str]] = {
    "create": "Create", "update": "Change", "reorder": "Reorder", "delete": "Delete", "revoke": "Revoke",
    "propose": "Propose", "undo": "Undo a change of",
}  # fmt: skip
"""Action of a diff -> beginning of its heading."""

RenderForm = Callable[[ApiResult | None], Awaitable[Response]]
"""Renders the form again with what was typed, and with the error that refused it."""


@dataclass(frozen=True, slots=True)
class FormWrite:
    """What a form asks of the API.

    Attributes:
        method: of the request.
        path: below ``/v1``.
        body: without ``dry_run``.
        back: path of the page that has the form, below the application's address.
        leads_to: the answer of the saved change -> path of the page to go on to.
        render_form: None for a form with nothing to type: its page is shown by a link.
        rendering: how the saved text will look, on the preview.
        labels: field of the API -> its label on the preview; other fields show their name in words.
    """

    method: str
    path: str
    body: Mapping[str, Any]
    back: str
    leads_to: Callable[[Answer], str]
    render_form: RenderForm | None = None
    rendering: Markup | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangedField:
    """A line of a diff, in words."""

    label: str
    before: str
    after: str


async def preview_or_save(view: WorkspaceView, write: FormWrite) -> Response:
    """Answers a form: its dry run, the form again, or the redirect after the change was saved.

    Raises:
        NotFound: the form has no such button.
    """
    form = view.context.form
    action = form.text("action") or "save"
    if action == "edit" and write.render_form is not None:
        return await write.render_form(None)
    if action not in ("preview", "save"):
        raise NotFound
    result = await view.send(
        write.method,
        write.path,
        {**write.body, "dry_run": action == "preview"},
        idempotency_key=form.text("once")[:255] or None,
    )
    if not result.ok:
        return await _refused_write_page(view, write, result)
    if action == "preview":
        return await _preview_page(view, write, result)
    return _redirect_with_note(view, write, result.body)


async def delete_and_lead_to_list(
    context: PageContext, public_id: str, collection: str, object_id: str
) -> Response:
    """Deletes a saved object, or previews that; the list it leads to offers the undo.

    Args:
        context: of the application.
        public_id: of the workspace.
        collection: last part of the path of the list, in the API and the application, such as ``reports``.
        object_id: as it stands in the address.

    Raises:
        NotFound: the id is malformed.
    """
    view = await open_workspace_view(context, public_id)
    path = f"/{collection}/{parse_id_or_raise_not_found(object_id)}"
    list_page = f"{view.path}/{collection}"
    return await preview_or_save(
        view, FormWrite("DELETE", path, {}, back=f"{view.path}{path}", leads_to=lambda _: list_page)
    )


def changed_fields_set_by_persons(
    diff: Answer, labels: Mapping[str, str] = MappingProxyType({}), *, is_cut: bool = True
) -> list[ChangedField]:
    """Returns the changed fields of a diff in words, without those that no person sets.

    Args:
        diff: of the change.
        labels: field of the API -> its label.
        is_cut: whether long values are cut, as on the preview of what the person has typed.
    """
    return [
        ChangedField(
            labels.get(change["field"]) or _field_label(change["field"]),
            _value_text(change["from"], is_cut=is_cut),
            _value_text(change["to"], is_cut=is_cut),
        )
        for change in diff["changes"]
        if change["field"].partition(".")[0] not in _HIDDEN_CHANGES
        and (change["from"], change["to"]) != (None, None)
    ]


async def _preview_page(view: WorkspaceView, write: FormWrite, result: ApiResult) -> Response:
    diff = result.body["diff"]
    return await _change_page(
        view,
        write,
        heading=f"{ACTION_TITLES.get(diff['action'], 'Change')} “{diff['resource']['label']}”",
        action=diff["action"],
        lines=changed_fields_set_by_persons(diff, write.labels),
        rendering=write.rendering,
        effects=[effect["summary"] for effect in diff["effects"] if effect.get("summary")],
    )


async def _refused_write_page(view: WorkspaceView, write: FormWrite, result: ApiResult) -> Response:
    """A stale update is a choice between both versions; anything else shows the form with the error."""
    if result.body.get("code") == "stale_update":
        return await _change_page(
            view,
            write,
            HTTPStatus.CONFLICT,
            heading="Changed by someone else",
            current_version=result.body["current_updated_at"],
        )
    if write.render_form is not None:
        return await write.render_form(result)
    return await _change_page(
        view, write, result.status, heading="This change was not saved", error=result.refusal_message
    )


async def _change_page(view: WorkspaceView, write: FormWrite, status: int = 200, **values: Any) -> Response:
    return await view.render(
        "change_preview.html",
        status,
        fields=view.context.form.pairs_except(*_FORM_FIELDS),
        back=write.back,
        can_edit=write.render_form is not None,
        **values,
    )


def _redirect_with_note(view: WorkspaceView, write: FormWrite, envelope: Answer) -> Response:
    action = envelope["diff"]["action"] if envelope["applied"] else "unchanged"
    return redirect_with_saved_note(view.context, write.leads_to(envelope), action, envelope.get("audit_id"))


def redirect_with_saved_note(
    context: PageContext, path: str, action: str, audit_id: str | None = None
) -> Response:
    """Returns the redirect to a page that shows the note.

    Args:
        context: of the application.
        path: below the application's address; may have a query string.
        action: of the change.
        audit_id: of the applied change.
    """
    address, _, fragment = path.partition("#")
    separator = "&" if "?" in address else "?"
    note = saved_note_parameter(action, audit_id)
    return context.redirect_external(
        f"{context.base}{address}{separator}saved={note}{f'#{fragment}' if fragment else ''}"
    )


async def undo_saved_change(context: PageContext, public_id: str, audit_id: str) -> Response:
    """Undo a change from the note on the page, and lead back to that page."""
    view = await open_workspace_view(context, public_id)
    back = _path_without_note(safe_redirect_path_or_root(context.form.text("next")))
    result = await view.send(
        "POST", f"/audit/{parse_id_or_raise_not_found(audit_id)}/undo", {"dry_run": False}
    )
    if result.ok:
        return redirect_with_saved_note(context, back, "undo")
    return await view.render(
        "change_preview.html",
        result.status,
        heading="This change was not undone",
        error=result.refusal_message,
        fields=[],
        back=back,
        can_edit=False,
    )


def _path_without_note(path: str) -> str:
    address, _, query = path.partition("?")
    kept = [pair for pair in query.split("&") if pair and not pair.startswith("saved=")]
    return f"{address}?{'&'.join(kept)}" if kept else address


def _field_label(field: str) -> str:
    label = ": ".join(map(spell_out, field.split(".")))
    return label[:1].upper() + label[1:]


def _value_text(value: Any, *, is_cut: bool) -> str:
    if value is None or value == "":
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = ", ".join(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    is_short = not is_cut or len(text) <= _MAX_VALUE_LENGTH
    return text if is_short else f"{text[:_MAX_VALUE_LENGTH]}…"


PAGES: Final = (Page("POST /w/<public_id>/undo/<audit_id>", undo_saved_change),)
