"""Webhooks: the list, the form, the signing secret, and what was sent."""

from collections.abc import Mapping
from typing import Any, Final

from quart import Response

from hosts.web.api_client import ApiRequestFailed, ApiResult
from hosts.web.cards.card import Answer
from hosts.web.change_preview import (
    FormWrite,
    delete_and_lead_to_list,
    preview_or_save,
    redirect_with_saved_note,
)
from hosts.web.email_reports import DELIVERY_LABELS
from hosts.web.forms import FormFields, parse_id_or_raise_not_found
from hosts.web.one_time import (
    ShownSecret,
    delete_secret_cookie,
    read_secret_of_cookie,
    redirect_with_secret,
)
from hosts.web.page_context import Page, PageContext
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope

MAX_NAME_LENGTH: Final = 120
_TEXT_FIELDS: Final = ("name", "url", "event_names", "active", "once")


async def list_webhooks(context: PageContext, public_id: str) -> Response:
    """Every webhook, newest first."""
    view = await open_workspace_view(context, public_id)
    answer = await view.get_or_fail("/webhooks")
    return await view.render(
        "webhooks.html", webhooks=answer["webhooks"], may_write=view.may(Scope.WRITE_RULES)
    )


async def show_webhook(context: PageContext, public_id: str, webhook_id: str) -> Response:
    """One webhook: what was sent, the form, and a new signing secret once."""
    view = await open_workspace_view(context, public_id)
    webhook = await load_webhook(view, webhook_id)
    shown = read_secret_of_cookie(context)
    page = await _webhook_page(view, webhook, _values_of_webhook(webhook), shown=shown)
    path = f"{view.path}/webhooks/{webhook['id']}"
    return page if shown is None else delete_secret_cookie(context, path, page)


async def show_new_webhook(context: PageContext, public_id: str) -> Response:
    """The empty form."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    return await _new_webhook_page(view, {"once": new_token()})


async def create_webhook(context: PageContext, public_id: str) -> Response:
    """Create a webhook."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)

    async def render_form(result: ApiResult | None) -> Response:
        return await _new_webhook_page(view, _values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/webhooks",
            {"webhook": _fields_of_form(context.form)},
            back=f"{view.path}/webhooks",
            leads_to=lambda envelope: f"{view.path}/webhooks/{envelope['data']['id']}",
            render_form=render_form,
        ),
    )


async def change_webhook(context: PageContext, public_id: str, webhook_id: str) -> Response:
    """Change the events and the address of a webhook."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    webhook = await load_webhook(view, webhook_id)
    own_page = f"{view.path}/webhooks/{webhook['id']}"
    patch = _fields_of_form(context.form) | {"active": bool(context.form.text("active"))}
    version = context.form.text("expected_updated_at")
    patch |= {"expected_updated_at": version} if version else {}

    async def render_form(result: ApiResult | None) -> Response:
        return await _webhook_page(view, webhook, _values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            f"/webhooks/{webhook['id']}",
            {"webhook": patch},
            back=own_page,
            leads_to=lambda _: own_page,
            render_form=render_form,
        ),
    )


async def pause_or_resume_webhook(context: PageContext, public_id: str, webhook_id: str) -> Response:
    """Pause a webhook, or send events again."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    path = f"/webhooks/{parse_id_or_raise_not_found(webhook_id)}"
    patch = {"webhook": {"active": context.form.text("active") == "1"}}
    own_page = f"{view.path}{path}"
    return await preview_or_save(
        view, FormWrite("PATCH", path, patch, back=own_page, leads_to=lambda _: own_page)
    )


async def send_test_message(context: PageContext, public_id: str, webhook_id: str) -> Response:
    """Send a message without an event."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    path = f"/webhooks/{parse_id_or_raise_not_found(webhook_id)}"
    key = context.form.text("once")[:200] or None
    result = await view.send("POST", f"{path}/test", {"dry_run": False}, idempotency_key=key)
    if not result.ok:
        raise ApiRequestFailed(result)
    return redirect_with_saved_note(context, f"{view.path}{path}", "test_message")


async def create_secret(context: PageContext, public_id: str, webhook_id: str) -> Response:
    """Create a new signing secret; the page it leads to shows it once."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    path = f"/webhooks/{parse_id_or_raise_not_found(webhook_id)}"
    result = await view.send("POST", f"{path}/secret", {"dry_run": False})
    if not result.ok:
        raise ApiRequestFailed(result)
    secret = result.body["data"]["secret"]
    return redirect_with_secret(context, f"{view.path}{path}", ShownSecret("webhook", secret))


async def delete_webhook(context: PageContext, public_id: str, webhook_id: str) -> Response:
    """Delete a webhook; the list it leads to offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "webhooks", webhook_id)


async def load_webhook(view: WorkspaceView, webhook_id: str) -> Answer:
    """Returns a webhook.

    Raises:
        NotFound: there is none with this id.
    """
    return await view.get_or_not_found(f"/webhooks/{parse_id_or_raise_not_found(webhook_id)}")


async def _webhook_page(
    view: WorkspaceView,
    webhook: Answer,
    values: Mapping[str, Any],
    result: ApiResult | None = None,
    shown: ShownSecret | None = None,
) -> Response:
    deliveries = await view.get(f"/webhooks/{webhook['id']}/deliveries")
    return await view.render(
        "webhook.html",
        result.status if result else 200,
        webhook=webhook,
        deliveries=deliveries.data.get("deliveries", []),
        problem=None if deliveries.ok else deliveries.message,
        delivery_labels=DELIVERY_LABELS,
        values=values,
        refused=result.refusal_message if result else None,
        secret=shown.secret if shown else None,
        once=new_token(),
        may_write=view.may(Scope.WRITE_RULES),
        max_name=MAX_NAME_LENGTH,
    )


async def _new_webhook_page(
    view: WorkspaceView, values: Mapping[str, Any], result: ApiResult | None = None
) -> Response:
    return await view.render(
        "webhook_editor.html",
        result.status if result else 200,
        values=values,
        refused=result.refusal_message if result else None,
        max_name=MAX_NAME_LENGTH,
    )


def _fields_of_form(form: FormFields) -> dict[str, Any]:
    """Returns the fields of the API that both forms have."""
    names = (line.strip() for line in form.text("event_names").splitlines())
    return {
        "name": form.text("name"),
        "url": form.text("url"),
        "event_names": [name for name in names if name],
    }


def _values_of_form(form: FormFields) -> dict[str, Any]:
    """Returns what was typed."""
    return {name: form.text(name) for name in _TEXT_FIELDS}


def _values_of_webhook(webhook: Answer) -> dict[str, Any]:
    """Returns what the form of a stored webhook starts with."""
    return {
        "name": webhook["name"],
        "url": webhook["url"],
        "event_names": "\n".join(webhook["event_names"]),
        "active": "1" if webhook["active"] else "",
    }


PAGES: Final = (
    Page("GET /w/<public_id>/webhooks", list_webhooks),
    Page("POST /w/<public_id>/webhooks", create_webhook),
    Page("GET /w/<public_id>/webhooks/new", show_new_webhook),
    Page("GET /w/<public_id>/webhooks/<webhook_id>", show_webhook),
    Page("POST /w/<public_id>/webhooks/<webhook_id>", change_webhook),
    Page("POST /w/<public_id>/webhooks/<webhook_id>/active", pause_or_resume_webhook),
    Page("POST /w/<public_id>/webhooks/<webhook_id>/test", send_test_message),
    Page("POST /w/<public_id>/webhooks/<webhook_id>/secret", create_secret),
    Page("POST /w/<public_id>/webhooks/<webhook_id>/delete", delete_webhook),
)
