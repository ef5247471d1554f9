"""Scheduled e-mails of reports and dashboards: the list, the form, preview, test, and what was sent."""

import re
from collections.abc import Mapping
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiRequestFailed, ApiResult
from hosts.web.cards.card import Answer
from hosts.web.cards.json_values import build_display_context
from hosts.web.change_preview import (
    FormWrite,
    delete_and_lead_to_list,
    preview_or_save,
    redirect_with_saved_note,
)
from hosts.web.dashboards import load_reports_by_id
from hosts.web.email_cards import (
    EmailDocument,
    build_email_cards,
    describe_covered_range,
    render_document,
)
from hosts.web.forms import FormFields, parse_id_or_raise_not_found
from hosts.web.local_dates import format_local_time
from hosts.web.page_context import Page, PageContext
from hosts.web.page_security import uncached_page_headers
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope
from service_core.workspace.email_reports.models import MAX_DAY_OF_MONTH, WEEKDAYS

MAX_NAME_LENGTH: Final = 120
MAX_OFFERED: Final = 200
RECIPIENT_LABELS: Final[Mapping[str, str]] = {
    "member": "Member",
    "confirmed": "Confirmed",
    "unconfirmed": "Waiting for confirmation",
    "unsubscribed": "Unsubscribed",
}
DELIVERY_LABELS: Final[Mapping[str, str]] = {
    "queued": "Queued", "retrying": "Retrying", "sent": "Sent", "failed": "Failed", "skipped": "Not sent",
}  # fmt: skip
_COLLECTIONS: Final = {"report": "reports", "dashboard": "dashboards"}
_TEXT_FIELDS: Final = (
    "name", "object", "frequency", "weekday", "day_of_month", "hour", "recipients", "once",
)  # fmt: skip


async def list_email_reports(context: PageContext, public_id: str) -> Response:
    """Every scheduled e-mail, newest first."""
    view = await open_workspace_view(context, public_id)
    answer = await view.get_or_fail("/email-reports")
    return await view.render(
        "email_reports.html",
        email_reports=[
            (one, describe_schedule(one), _next_time(one, view)) for one in answer["email_reports"]
        ],
        may_write=view.may(Scope.WRITE_REPORTS),
    )


async def show_email_report(context: PageContext, public_id: str, email_report_id: str) -> Response:
    """One scheduled e-mail: its recipients, what was sent, and the form to change it."""
    view = await open_workspace_view(context, public_id)
    email_report = await load_email_report(view, email_report_id)
    return await _email_report_page(view, email_report, _values_of_email_report(email_report))


async def show_new_email_report(context: PageContext, public_id: str) -> Response:
    """The form of a new scheduled e-mail, of the report or dashboard in the address."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    object_type, object_id = request.args.get("type", ""), request.args.get("id", "")
    chosen = f"{object_type}:{object_id}" if object_type in _COLLECTIONS else ""
    values = {
        "once": new_token(), "object": chosen, "frequency": "weekly", "weekday": "monday", "day_of_month": "1",
        "hour": "8", "recipients": view.own_email, "active": "1",
    }  # fmt: skip
    return await _new_email_report_page(view, values)


async def create_email_report(context: PageContext, public_id: str) -> Response:
    """Schedule an e-mail."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    object_type, _, object_id = context.form.text("object").partition(":")
    body = _fields_of_form(context.form) | {"object_type": object_type, "object_id": object_id}

    async def render_form(result: ApiResult | None) -> Response:
        return await _new_email_report_page(view, _values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/email-reports",
            {"email_report": body},
            back=f"{view.path}/email-reports",
            leads_to=lambda envelope: f"{view.path}/email-reports/{envelope['data']['id']}",
            render_form=render_form,
        ),
    )


async def change_email_report(context: PageContext, public_id: str, email_report_id: str) -> Response:
    """Change when, to whom and under which subject an e-mail is sent."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    email_report = await load_email_report(view, email_report_id)
    own_page = f"{view.path}/email-reports/{email_report['id']}"
    patch = _fields_of_form(context.form) | {"active": bool(context.form.text("active"))}
    version = context.form.text("expected_updated_at")
    patch |= {"expected_updated_at": version} if version else {}

    async def render_form(result: ApiResult | None) -> Response:
        return await _email_report_page(view, email_report, _values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            f"/email-reports/{email_report['id']}",
            {"email_report": patch},
            back=own_page,
            leads_to=lambda _: own_page,
            render_form=render_form,
        ),
    )


async def delete_email_report(context: PageContext, public_id: str, email_report_id: str) -> Response:
    """Stop a scheduled e-mail; the list it leads to offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "email-reports", email_report_id)


async def send_test(context: PageContext, public_id: str, email_report_id: str) -> Response:
    """Send the e-mail as it is now to the person who is signed in."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    path = f"/email-reports/{parse_id_or_raise_not_found(email_report_id)}"
    key = context.form.text("once")[:200] or None
    result = await view.send("POST", f"{path}/test", {"to": view.own_email}, idempotency_key=key)
    if not result.ok:
        raise ApiRequestFailed(result)
    return redirect_with_saved_note(context, f"{view.path}{path}", "test")


async def show_preview(context: PageContext, public_id: str, email_report_id: str) -> Response:
    """The e-mail as it would be sent now, as a document of its own."""
    view = await open_workspace_view(context, public_id)
    email_report = await load_email_report(view, email_report_id)
    object_type, object_id = email_report["object_type"], email_report["object_id"]
    path = f"/{_COLLECTIONS[object_type]}/{object_id}"
    run = await view.send("POST", f"{path}/run", {})
    if not run.ok:
        raise ApiRequestFailed(run)
    setting = build_display_context(context.component(Catalog), view.workspace)
    document = EmailDocument(
        email_report["name"],
        email_report["frequency"],
        view.workspace.name,
        describe_covered_range(run.body, setting),
        build_email_cards(run.body, await _name_and_chart_by_report(view), setting),
        f"{context.base}{view.path}{path}",
        None,
    )
    return Response(render_document(document, "html"), 200, uncached_page_headers(), mimetype="text/html")


async def load_email_report(view: WorkspaceView, email_report_id: str) -> Answer:
    """Returns a scheduled e-mail.

    Raises:
        NotFound: there is none with this id.
    """
    return await view.get_or_not_found(f"/email-reports/{parse_id_or_raise_not_found(email_report_id)}")


def describe_schedule(email_report: Answer) -> str:
    """Returns when an e-mail is sent: ``Mondays at 08:00``."""
    at = f"at {email_report['hour']:02}:00"
    if email_report["frequency"] == "weekly":
        return f"{email_report['weekday'].capitalize()}s {at}"
    return f"Day {email_report['day_of_month']} of each month {at}"


def split_recipients(form: FormFields) -> list[str]:
    """Returns the addresses of a text field, which lines, spaces or commas separate."""
    return [text for text in re.split(r"[\s,;]+", form.text("recipients")) if text]


async def _email_report_page(
    view: WorkspaceView, email_report: Answer, values: Mapping[str, Any], result: ApiResult | None = None
) -> Response:
    deliveries = await view.get(f"/email-reports/{email_report['id']}/deliveries")
    found = await view.get(f"/{_COLLECTIONS[email_report['object_type']]}/{email_report['object_id']}")
    return await view.render(
        "email_report_page.html",
        result.status if result else 200,
        email_report=email_report,
        schedule=describe_schedule(email_report),
        next_at=_next_time(email_report, view),
        object_name=found.body["name"] if found.ok else None,
        object_path=f"{view.path}/{_COLLECTIONS[email_report['object_type']]}/{email_report['object_id']}",
        recipients=deliveries.body["recipients"] if deliveries.ok else [],
        deliveries=deliveries.body["deliveries"] if deliveries.ok else [],
        problem=None if deliveries.ok else deliveries.message,
        recipient_labels=RECIPIENT_LABELS,
        delivery_labels=DELIVERY_LABELS,
        values=values,
        refused=result.refusal_message if result else None,
        own_email=view.own_email,
        once=new_token(),
        may_write=view.may(Scope.WRITE_REPORTS),
        **_form_choices(),
    )


async def _new_email_report_page(
    view: WorkspaceView, values: Mapping[str, Any], result: ApiResult | None = None
) -> Response:
    reports = await view.get_or_fail("/reports", limit=str(MAX_OFFERED))
    dashboards = await view.get_or_fail("/dashboards", limit=str(MAX_OFFERED))
    return await view.render(
        "email_report_editor.html",
        result.status if result else 200,
        values=values,
        refused=result.refusal_message if result else None,
        reports=reports["reports"],
        dashboards=dashboards["dashboards"],
        **_form_choices(),
    )


def _form_choices() -> dict[str, Any]:
    return {
        "weekdays": WEEKDAYS,
        "days_of_month": range(1, MAX_DAY_OF_MONTH + 1),
        "hours": range(24),
        "max_name": MAX_NAME_LENGTH,
    }


async def _name_and_chart_by_report(view: WorkspaceView) -> dict[str, tuple[str, str | None]]:
    reports = await load_reports_by_id(view)
    return {id_: (one["name"], one["chart"]) for id_, one in reports.items()}


def _next_time(email_report: Answer, view: WorkspaceView) -> str:
    """Returns when an e-mail is sent next, such as ``1 July 2026, 08:00``; empty if it is paused."""
    next_at = email_report["next_at"]
    return format_local_time(next_at, view.workspace.zone) if next_at else ""


def _fields_of_form(form: FormFields) -> dict[str, Any]:
    """Returns the fields of the API that both forms have."""
    return {
        "name": form.text("name"),
        "frequency": form.text("frequency") or "weekly",
        "weekday": form.text("weekday") or "monday",
        "day_of_month": form.integer("day_of_month") or 1,
        "hour": form.integer("hour") or 0,
        "recipients": split_recipients(form),
    }


def _values_of_form(form: FormFields) -> dict[str, str]:
    """Returns what was typed."""
    return {name: form.text(name) for name in (*_TEXT_FIELDS, "active")}


def _values_of_email_report(email_report: Answer) -> dict[str, str]:
    """Returns what the form of a stored e-mail starts with."""
    texts = {name: str(email_report.get(name) or "") for name in _TEXT_FIELDS}
    return texts | {
        "hour": str(email_report["hour"]),
        "recipients": "\n".join(email_report["recipients"]),
        "active": "1" if email_report["active"] else "",
    }


PAGES: Final = (
    Page("GET /w/<public_id>/email-reports", list_email_reports),
    Page("POST /w/<public_id>/email-reports", create_email_report),
    Page("GET /w/<public_id>/email-reports/new", show_new_email_report),
    Page("GET /w/<public_id>/email-reports/<email_report_id>", show_email_report),
    Page("POST /w/<public_id>/email-reports/<email_report_id>", change_email_report),
    Page("GET /w/<public_id>/email-reports/<email_report_id>/preview", show_preview),
    Page("POST /w/<public_id>/email-reports/<email_report_id>/test", send_test),
    Page("POST /w/<public_id>/email-reports/<email_report_id>/delete", delete_email_report),
)
