"""Settings: what a workspace is called, how it counts days and money, and how much of its plan is used."""

from collections.abc import Mapping
from typing import Any, Final
from zoneinfo import available_timezones

from quart import Response

from hosts.web.api_client import ApiResult
from hosts.web.cards.card import Answer
from hosts.web.change_preview import FormWrite, preview_or_save
from hosts.web.page_context import Page, PageContext
from hosts.web.settings_form import (
    APPROVAL_SCOPES,
    PROGRAM_LABELS,
    SETTING_HINTS,
    SETTING_LABELS,
    fields_that_differ,
    settings_of_form,
    values_of_form,
    values_of_settings,
)
from hosts.web.workspace_view import WorkspaceView, open_workspace_view
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution.ports import RuleBasedModel
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.money import ISO_4217_CODES
from service_core.kernel.operations import Scope

_APPROVAL_CHOICES: Final = {
    "": "No",
    "all": "Yes",
    "not_reversible": "If it cannot be undone completely",
}
"""Which changes need an approval -> words of the form."""


async def show_general_settings(context: PageContext, public_id: str) -> Response:
    """The settings, as a form for whoever can change them, and the usage of the plan."""
    view = await open_workspace_view(context, public_id)
    settings = await view.get("/workspace/settings")
    return await _settings_page(view, settings, values_of_settings(settings.body) if settings.ok else {})


async def change_general_settings(context: PageContext, public_id: str) -> Response:
    """Change the settings, or preview that."""
    view = await open_workspace_view(context, public_id)
    view.require(Scope.WRITE_RULES)
    settings = await view.get_or_fail("/workspace/settings")
    own_page = f"{view.path}/settings/general"

    async def render_form(result: ApiResult | None) -> Response:
        return await _settings_page(view, ApiResult(200, settings), values_of_form(context.form), result)

    return await preview_or_save(
        view,
        FormWrite(
            "PATCH",
            "/workspace",
            {"workspace": _patch_of_form(view, settings)},
            back=own_page,
            leads_to=lambda _: own_page,
            render_form=render_form,
            labels=SETTING_LABELS,
        ),
    )


def _patch_of_form(view: WorkspaceView, settings: Answer) -> dict[str, Any]:
    patch = fields_that_differ(settings, settings_of_form(view.context.form))
    version = view.context.form.text("expected_updated_at")
    return patch | ({"expected_updated_at": version} if version else {})


async def _settings_page(
    view: WorkspaceView,
    settings: ApiResult,
    values: Mapping[str, Any],
    refused: ApiResult | None = None,
) -> Response:
    workspace, usage = await gather_or_cancel(view.get("/workspace"), view.get("/context"))
    return await view.render(
        "general_settings.html",
        refused.status if refused else 200,
        facts=workspace,
        settings=settings,
        usage=usage,
        values=values,
        refused=refused.refusal_message if refused else None,
        labels=SETTING_LABELS,
        hints=SETTING_HINTS,
        models=_default_model_labels(view),
        zones=sorted(available_timezones()),
        currencies=sorted(ISO_4217_CODES),
        may_write=view.may(Scope.WRITE_RULES),
        approval_scopes=APPROVAL_SCOPES,
        programs=PROGRAM_LABELS,
        approval_choices=_APPROVAL_CHOICES,
    )


def _default_model_labels(view: WorkspaceView) -> dict[str, str]:
    """Returns the models that can be a default, by id; the empty id keeps the built-in default."""
    models = view.context.component(AttributionModels).by_id.values()
    return {"": "Built-in default"} | {
        model.id: model.label for model in models if isinstance(model, RuleBasedModel)
    }


PAGES: Final = (
    Page("GET /w/<public_id>/settings/general", show_general_settings),
    Page("POST /w/<public_id>/settings/general", change_general_settings),
)
