"""Conversion rules: the list with what was sent, failed and skipped and why, and the form with a preview."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quart import Response, request

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer
from hosts.web.change_preview import FormWrite, delete_and_lead_to_list, preview_or_save
from hosts.web.page_context import Page, PageContext
from hosts.web.range_bar import DATES_ONLY, RangeBar
from hosts.web.rule_form import (
    OPERATOR_LABELS,
    SOURCE_LABELS,
    VALUE_LABELS,
    rule_of_form,
    values_of_form,
    values_of_new_rule,
    values_of_rule,
)
from hosts.web.view_state import ViewState, read_view_state
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.kernel.ids import new_token
from service_core.kernel.operations import Scope
from service_core.workspace.rules.postback_platforms import PostbackPlatforms

REASON_TEXTS: Final[Mapping[str, str]] = {
    "duplicate": "already sent for this order",
    "no_match_key": "nothing to recognize the person by",
    "missing_value": "the event has no amount",
    "missing_currency": "the event has no currency",
    "too_old": "too old for the platform",
    "consent_denied": "no consent to advertising",
    "rule_inactive": "the rule was paused",
    "not_connected": "the platform was not connected",
}
"""Reason of a skipped conversion -> in words; failed ones have the error code of the platform."""


@dataclass(frozen=True, slots=True)
class DeliverySummary:
    """What became of the conversions of a rule within the range."""

    sent: int
    failed: int
    skipped: int
    reasons: tuple[str, ...]


_NOTHING_SENT: Final = DeliverySummary(0, 0, 0, ())


async def list_rules(context: PageContext, public_id: str) -> Response:
    """Every rule, newest first, with its deliveries in the range."""
    view = await open_workspace_view(context, public_id)
    state = read_view_state(request.args, view.workspace.zone, view.caller.now)
    rules = (await view.get_or_fail("/rules"))["rules"]
    deliveries = await view.get("/rules/deliveries", **state.date_parameters())
    return await view.render(
        "rules.html",
        bar=RangeBar(state, f"{context.base}{view.path}/rules", {}, DATES_ONLY),
        rules=[(rule, _summary_of_rule(deliveries, rule["id"])) for rule in rules],
        problem=None if deliveries.ok else deliveries.message,
        platforms=_platform_labels(view),
        sources=SOURCE_LABELS,
        may_write=view.may(Scope.WRITE_RULES),
    )


async def show_rule(context: PageContext, public_id: str, rule_id: str) -> Response:
    """One rule: its deliveries, why some were not sent, and the form to change it."""
    view = await open_workspace_view(context, public_id)
    rule = await load_rule(view, rule_id)
    return await _rule_page(view, rule, values_of_rule(rule))


async def show_new_rule(context: PageContext, public_id: str) -> Response:
    """The empty form."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    return await _new_rule_page(view, values_of_new_rule(new_token()))


async def create_rule(context: PageContext, public_id: str) -> Response:
    """Create a rule."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)

    async def render_form(result: ApiResult | None) -> Response:
        return await _new_rule_page(view, values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "POST",
            "/rules",
            {"rule": rule_of_form(context.form)},
            back=f"{view.path}/rules",
            leads_to=lambda envelope: f"{view.path}/rules/{envelope['data']['id']}",
            render_form=render_form,
        ),
    )


async def change_rule(context: PageContext, public_id: str, rule_id: str) -> Response:
    """Change a rule; what is sent from then on follows it."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    rule = await load_rule(view, rule_id)
    own_page = f"{view.path}/rules/{rule['id']}"

    async def render_form(result: ApiResult | None) -> Response:
        return await _rule_page(view, rule, values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            f"/rules/{rule['id']}",
            {"rule": _fields_that_differ(rule, rule_of_form(context.form))},
            back=own_page,
            leads_to=lambda _: own_page,
            render_form=render_form,
        ),
    )


async def delete_rule(context: PageContext, public_id: str, rule_id: str) -> Response:
    """Delete a rule; the list it leads to offers the undo."""
    return await delete_and_lead_to_list(context, public_id, "rules", rule_id)


async def load_rule(view: WorkspaceView, rule_id: str) -> Answer:
    """Returns a rule of the workspace.

    Raises:
        NotFound: there is none with this id.
    """
    return await view.get_listed_or_not_found("rules", rule_id)


async def _rule_page(
    view: WorkspaceView, rule: Answer, values: Mapping[str, Any], result: ApiResult | None = None
) -> Response:
    state: ViewState = read_view_state(request.args, view.workspace.zone, view.caller.now)
    deliveries = await view.get("/rules/deliveries", **state.date_parameters())
    return await view.render(
        "rule.html",
        result.status if result else 200,
        rule=rule,
        bar=RangeBar(state, f"{view.context.base}{view.path}/rules/{rule['id']}", {}, DATES_ONLY),
        summary=_summary_of_rule(deliveries, rule["id"]),
        problem=None if deliveries.ok else deliveries.message,
        refused=result.refusal_message if result else None,
        may_write=view.may(Scope.WRITE_RULES),
        **await _form_choices(view, values),
    )


async def _new_rule_page(
    view: WorkspaceView, values: Mapping[str, Any], result: ApiResult | None = None
) -> Response:
    return await view.render(
        "rule_editor.html",
        result.status if result else 200,
        refused=result.refusal_message if result else None,
        **await _form_choices(view, values),
    )


async def _form_choices(view: WorkspaceView, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what the fields of the form offer; names of events are suggestions, so a failed read offers none."""
    names = await view.get("/event-names")
    platforms = view.context.component(PostbackPlatforms).by_id.values()
    return {
        "values": values,
        "event_names": names.body["event_names"] if names.ok else [],
        "platform_events": [*dict.fromkeys(name for one in platforms for name in one.event_names)],
        "platforms": _platform_labels(view),
        "sources": SOURCE_LABELS,
        "value_types": VALUE_LABELS,
        "operators": OPERATOR_LABELS,
    }


def _platform_labels(view: WorkspaceView) -> dict[str, str]:
    return {one.id: one.label for one in view.context.component(PostbackPlatforms).by_id.values()}


def _fields_that_differ(rule: Answer, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields to patch: a target that stays is not looked up at the platform again."""
    return {name: value for name, value in wanted.items() if value != rule[name]}


def _summary_of_rule(deliveries: ApiResult, rule_id: str) -> DeliverySummary | None:
    """Returns the deliveries of a rule; None when they could not be read."""
    if not deliveries.ok:
        return None
    found = next((one for one in deliveries.body["rules"] if one["rule_id"] == rule_id), None)
    if found is None:
        return _NOTHING_SENT
    reasons = tuple(_reason_text(reason) for reason in found["reasons"])
    return DeliverySummary(found["sent"], found["failed"], found["skipped"], reasons)


def _reason_text(reason: Answer) -> str:
    known = reason["reason"]
    words = REASON_TEXTS.get(known, known.replace("_", " ")) if known else "no reason was recorded"
    return f"{reason['count']:,} {reason['status']}: {words}"


PAGES: Final = (
    Page("GET /w/<public_id>/rules", list_rules),
    Page("POST /w/<public_id>/rules", create_rule),
    Page("GET /w/<public_id>/rules/new", show_new_rule),
    Page("GET /w/<public_id>/rules/<rule_id>", show_rule),
    Page("POST /w/<public_id>/rules/<rule_id>", change_rule),
    Page("POST /w/<public_id>/rules/<rule_id>/delete", delete_rule),
)
