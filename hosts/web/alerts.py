"""Alerts: the list with the latest check, the form, the signing secret, and what was sent."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from quart import Response

from hosts.web.alert_filters import (
    KEEPS_OTHER_FILTERS,
    explore_parameters,
    filter_choices,
    filter_parameters_of_form,
    filter_values_of_alert,
    filters_of_form,
)
from hosts.web.api_client import ApiRequestFailed, ApiResult
from hosts.web.cards.card import Answer, DisplayContext
from hosts.web.cards.json_values import build_display_context
from hosts.web.change_preview import FormWrite, delete_and_lead_to_list, preview_or_save
from hosts.web.email_reports import DELIVERY_LABELS, RECIPIENT_LABELS, split_recipients
from hosts.web.forms import (
    FormFields,
    format_number_exactly,
    parse_id_or_raise_not_found,
    parse_number_or_text,
)
from hosts.web.one_time import (
    ShownSecret,
    delete_secret_cookie,
    read_secret_of_cookie,
    redirect_with_secret,
)
from hosts.web.page_context import Page, PageContext
from hosts.web.segments import describe_filters
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.query.catalog import Catalog
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope

MAX_NAME_LENGTH: Final = 120
_PERIOD_ADJECTIVES: Final[Mapping[str, str]] = {"day": "Daily", "week": "Weekly"}
PERIOD_LABELS: Final[Mapping[str, str]] = {"day": "every day", "week": "every week"}
CONDITION_LABELS: Final[Mapping[str, str]] = {
    "unusual": "is unusual",
    "above": "is above a value",
    "below": "is below a value",
}
STATUS_LABELS: Final[Mapping[str, str]] = {
    "ok": "As expected",
    "firing": "Alert",
    "unknown": "Could not be checked",
}
_TEXT_FIELDS: Final = (
    "name", "metric_id", "period", "condition", "value", "recipients", "webhook_url", "active", "once",
    KEEPS_OTHER_FILTERS,
)  # fmt: skip


async def list_alerts(context: PageContext, public_id: str) -> Response:
    """Every alert with its latest check, newest first."""
    view = await open_workspace_view(context, public_id)
    answer = await view.get_or_fail("/alerts")
    setting = build_display_context(context.component(Catalog), view.workspace)
    return await view.render(
        "alerts.html",
        alerts=[
            (one, describe_rule(one, setting, view), describe_check(one, setting, view))
            for one in answer["alerts"]
        ],
        may_write=view.may(Scope.WRITE_REPORTS),
    )


async def show_alert(context: PageContext, public_id: str, alert_id: str) -> Response:
    """One alert: its latest check, what was sent, the form, and a new signing secret once."""
    view = await open_workspace_view(context, public_id)
    alert = await load_alert(view, alert_id)
    shown = read_secret_of_cookie(context)
    page = await _alert_page(view, alert, _values_of_alert(alert), shown=shown)
    path = f"{view.path}/alerts/{alert['id']}"
    return page if shown is None else delete_secret_cookie(context, path, page)


async def show_new_alert(context: PageContext, public_id: str) -> Response:
    """The empty form."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    values = {"once": new_token(), "metric_id": "visitors", "recipients": view.own_email, "active": "1"}
    return await _new_alert_page(view, values)


async def create_alert(context: PageContext, public_id: str) -> Response:
    """Create an alert."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    body = _fields_of_form(context.form) | {"metric_id": context.form.text("metric_id")}

    async def render_form(result: ApiResult | None) -> Response:
        return await _new_alert_page(view, _values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/alerts",
            {"alert": body},
            back=f"{view.path}/alerts",
            leads_to=lambda envelope: f"{view.path}/alerts/{envelope['data']['id']}",
            render_form=render_form,
        ),
    )


async def change_alert(context: PageContext, public_id: str, alert_id: str) -> Response:
    """Change the rule and the targets of an alert."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    alert = await load_alert(view, alert_id)
    own_page = f"{view.path}/alerts/{alert['id']}"
    patch = _fields_of_form(context.form) | {"active": bool(context.form.text("active"))}
    version = context.form.text("expected_updated_at")
    patch |= {"expected_updated_at": version} if version else {}

    async def render_form(result: ApiResult | None) -> Response:
        return await _alert_page(view, alert, _values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            f"/alerts/{alert['id']}",
            {"alert": patch},
            back=own_page,
            leads_to=lambda _: own_page,
            render_form=render_form,
        ),
    )


async def rotate_secret(context: PageContext, public_id: str, alert_id: str) -> Response:
    """Create a new signing secret; the page it leads to shows it once."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_REPORTS)
    path = f"/alerts/{parse_id_or_raise_not_found(alert_id)}"
    result = await view.send("POST", f"{path}/webhook-secret", {"dry_run": False})
    if not result.ok:
        raise ApiRequestFailed(result)
    secret = result.body["data"]["webhook_secret"]
    return redirect_with_secret(context, f"{view.path}{path}", ShownSecret("webhook", secret))


async def delete_alert(context: PageContext, public_id: str, alert_id: str) -> Response:
    """Delete an alert; the list it leads to offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "alerts", alert_id)


async def load_alert(view: WorkspaceView, alert_id: str) -> Answer:
    """Returns an alert.

    Raises:
        NotFound: there is none with this id.
    """
    return await view.get_or_not_found(f"/alerts/{parse_id_or_raise_not_found(alert_id)}")


def describe_rule(alert: Answer, setting: DisplayContext, view: WorkspaceView) -> str:
    """Returns the rule in words: ``Daily visitors below 10``."""
    label = setting.label(alert["metric_id"])
    name = label if label[:2].isupper() else label[:1].lower() + label[1:]
    subject = f"{_PERIOD_ADJECTIVES[alert['period']]} {name}"
    filters = " and ".join(describe_filters(view.context, alert["filters"]))
    subject = f"{subject} where {filters}, if" if filters else subject
    if alert["condition"] == "unusual":
        return f"{subject} unusual"
    value = _format_value(alert["metric_id"], alert["value"], setting, view)
    return f"{subject} {alert['condition']} {value}"


def describe_check(alert: Answer, setting: DisplayContext, view: WorkspaceView) -> str:
    """Returns the latest check in words: its value, the expected range, and the period."""
    check = alert["check"]
    if check is None:
        return "Not checked yet"
    day = datetime.fromisoformat(check["checked_period"]).astimezone(view.workspace.zone)
    when = f"{day.day} {day:%B %Y}" if alert["period"] == "day" else f"week of {day.day} {day:%B %Y}"
    if check["status"] == "unknown":
        return f"{STATUS_LABELS['unknown']} ({when}): {check['reason']}"
    value, low, high = (
        _format_value(alert["metric_id"], check[name], setting, view) for name in ("value", "low", "high")
    )
    expected = (
        f"{low} to {high}"
        if None not in (check["low"], check["high"])
        else f"at most {high}"
        if check["low"] is None
        else f"at least {low}"
    )
    return f"{STATUS_LABELS[check['status']]} ({when}): {value}, expected {expected}"


def _format_value(metric_id: str, value: float | None, setting: DisplayContext, view: WorkspaceView) -> str:
    metric = view.context.component(Catalog).metrics.get(metric_id)
    unit = setting.format_for(metric.unit if metric else "count", metric_id)
    return unit.format_in_full_or_dash(value)


async def _alert_page(
    view: WorkspaceView,
    alert: Answer,
    values: Mapping[str, Any],
    result: ApiResult | None = None,
    shown: ShownSecret | None = None,
) -> Response:
    deliveries = await view.get(f"/alerts/{alert['id']}/deliveries")
    setting = build_display_context(view.context.component(Catalog), view.workspace)
    return await view.render(
        "alert.html",
        result.status if result else 200,
        alert=alert,
        explore_parameters=explore_parameters(alert),
        rule=describe_rule(alert, setting, view),
        check=describe_check(alert, setting, view),
        recipients=deliveries.data.get("recipients", []),
        deliveries=deliveries.data.get("deliveries", []),
        problem=None if deliveries.ok else deliveries.message,
        recipient_labels=RECIPIENT_LABELS,
        delivery_labels=DELIVERY_LABELS,
        values=values,
        refused=result.refusal_message if result else None,
        secret=shown.secret if shown else None,
        may_write=view.may(Scope.WRITE_REPORTS),
        **_form_choices(view, values),
    )


async def _new_alert_page(
    view: WorkspaceView, values: Mapping[str, Any], result: ApiResult | None = None
) -> Response:
    return await view.render(
        "alert_editor.html",
        result.status if result else 200,
        values=values,
        refused=result.refusal_message if result else None,
        **_form_choices(view, values),
    )


def _form_choices(view: WorkspaceView, values: Mapping[str, Any]) -> dict[str, Any]:
    catalog = view.context.component(Catalog)
    return {
        "metrics": {one.id: one.label for one in catalog.metrics.values()},
        "periods": PERIOD_LABELS,
        "conditions": CONDITION_LABELS,
        "max_name": MAX_NAME_LENGTH,
        **filter_choices(view.context, values.get("f", ())),
    }


def _fields_of_form(form: FormFields) -> dict[str, Any]:
    """Returns the fields of the API that both forms have."""
    return filters_of_form(form) | {
        "name": form.text("name"),
        "period": form.text("period") or "day",
        "condition": form.text("condition") or "unusual",
        "value": parse_number_or_text(form.text("value")),
        "recipients": split_recipients(form),
        "webhook_url": form.text("webhook_url") or None,
    }


def _values_of_form(form: FormFields) -> dict[str, Any]:
    """Returns what was typed."""
    return {name: form.text(name) for name in _TEXT_FIELDS} | {"f": filter_parameters_of_form(form)}


def _values_of_alert(alert: Answer) -> dict[str, Any]:
    """Returns what the form of a stored alert starts with."""
    texts = {
        name: alert.get(name) or "" for name in ("name", "metric_id", "period", "condition", "webhook_url")
    }
    return texts | {
        "value": "" if alert["value"] is None else format_number_exactly(alert["value"]),
        "recipients": "\n".join(alert["recipients"]),
        "active": "1" if alert["active"] else "",
        **filter_values_of_alert(alert),
    }


PAGES: Final = (
    Page("GET /w/<public_id>/alerts", list_alerts),
    Page("POST /w/<public_id>/alerts", create_alert),
    Page("GET /w/<public_id>/alerts/new", show_new_alert),
    Page("GET /w/<public_id>/alerts/<alert_id>", show_alert),
    Page("POST /w/<public_id>/alerts/<alert_id>", change_alert),
    Page("POST /w/<public_id>/alerts/<alert_id>/secret", rotate_secret),
    Page("POST /w/<public_id>/alerts/<alert_id>/delete", delete_alert),
)
