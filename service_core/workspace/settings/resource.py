"""`GET /workspace/settings` and `PATCH /workspace`."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from service_core.access.analytics_settings import validate_analytics_settings
from service_core.access.api_keys import validate_time_zone
from service_core.access.models import Caller, RequestInterface
from service_core.access.signup.schemas import host_of_bare_site_address_or_raise
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution.resolve_model import require_rule_based_default_model
from service_core.changes.change_executor import ChangeExecutor, ChangePlanner
from service_core.changes.envelope import Envelope
from service_core.changes.models import Action, Change, changed_fields
from service_core.changes.optimistic_locking import check_not_stale, sent_fields
from service_core.changes.ports import Transaction
from service_core.changes.resource import RecordReader, Resource, ResourceType, Serializer, State
from service_core.kernel.errors import BadRequest, Forbidden, NotFound
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Reversibility, Scope, operation
from service_core.workspace.settings.fields import SETTING_NAMES, change_effect
from service_core.workspace.settings.models import WorkspaceRowStorage, WorkspaceSettingsRecord
from service_core.workspace.settings.schemas import (
    WorkspacePatch,
    WorkspacePatchBody,
    WorkspaceSettingsAnswer,
)
from service_core.workspace.validation import bad_request_as_unprocessable

_FIELD: Final = "workspace"


async def describe_setting_effects(
    records: RecordReader,  # noqa: ARG001 - as `ResourceType.effects`
    prior: State | None,
    new: State | None,
) -> Sequence[State]:
    """Returns what the change of each setting does."""
    return [
        {"type": "setting", "field": name, "summary": summary}
        for name in changed_fields(prior or {}, new or {})
        if (summary := change_effect(name)) is not None
    ]


async def load_settings_serializer(
    records: RecordReader,  # noqa: ARG001 - as `ResourceType.serializer`
    resources: Sequence[Resource],  # noqa: ARG001 - likewise
) -> Serializer:
    """Returns how the settings are shown: without ids and creator, which are those of the workspace."""
    shown = (*SETTING_NAMES, "updated_at")
    return lambda state: {name: state[name] for name in shown}


def require_web_application_for_retention_and_looser_policy(
    caller: Caller, prior: State | None, new: State | None
) -> None:
    """Refuses a program that would change when events are deleted, or let programs write with less than before.

    Raises:
        Forbidden: ``role_required``.
    """
    if caller.interface is RequestInterface.DASHBOARD or caller.is_system or prior is None or new is None:
        return
    if "event_retention_days" in changed_fields(prior, new):
        raise _web_application_required("event_retention_days", "when events are deleted")
    policies = [WorkspaceSettingsRecord.model_validate(state).to_write_policy() for state in (prior, new)]
    if not policies[1].is_at_least_as_strict_as(policies[0]):
        raise _web_application_required(
            "write_approvals", "what programs need to write, except to demand more"
        )


def _web_application_required(setting_name: str, words: str) -> Forbidden:
    return Forbidden(
        f"A program cannot change {words}",
        "role_required",
        hint="An owner or admin changes it in the web application.",
        field=f"{_FIELD}.{setting_name}",
    )


WORKSPACE_SETTINGS_TYPE: Final = ResourceType(
    WorkspaceSettingsRecord,
    Scope.WRITE_RULES,
    effects=describe_setting_effects,
    serializer=load_settings_serializer,
    storage=WorkspaceRowStorage,
    check_permitted=require_web_application_for_retention_and_looser_policy,
)


@operation("GET /workspace/settings", tag="workspace", is_aggregate=True)
async def get_workspace_settings(*, caller: Caller, changes: ChangeExecutor) -> WorkspaceSettingsAnswer:
    """Returns the settings of the workspace: name, days, money, goals, channels, attribution and data age."""
    async with changes.transactions.read(caller.workspace.id) as transaction:
        record = await load_settings_or_404(transaction, caller.workspace.id)
        serialize = await load_settings_serializer(transaction.resources, [record])
    return WorkspaceSettingsAnswer.model_validate(serialize(record.public_state))


@operation(
    "PATCH /workspace",
    tag="workspace",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    errors=(409, 422),
    tool_title="Update workspace settings",
    reversibility=Reversibility.REVERSIBLE,
)
async def update_workspace(
    body: WorkspacePatchBody, *, caller: Caller, changes: ChangeExecutor, models: AttributionModels
) -> HandlerResponse[Envelope]:
    """Change the settings sent, named as `get_workspace_settings` shows them.

    Conversions, currency and attribution apply to all history, channels to new events.
    """
    return await changes.preview_or_apply_change(
        caller, plan_settings_update(caller, body.workspace, models), dry_run=body.dry_run
    )


def plan_settings_update(caller: Caller, patch: WorkspacePatch, models: AttributionModels) -> ChangePlanner:
    """Returns the planner of a change of settings.

    Args:
        caller: the workspace and the actor.
        patch: the settings to change.
        models: the installed attribution models.

    Raises:
        Unprocessable: ``invalid_field``, for an invalid setting.
        Conflict: ``stale_update``.
    """

    async def plan(transaction: Transaction) -> Change:
        record = await load_settings_or_404(transaction, caller.workspace.id)
        check_not_stale(record, patch.expected_updated_at)
        with bad_request_as_unprocessable(_FIELD, "invalid_field"):
            changed = record.with_fields(caller.now, **_normalize_fields(patch))
            return Change(Action.UPDATE, record, _require_valid(changed, models))

    return plan


async def load_settings_or_404(transaction: Transaction, workspace_id: UUID) -> WorkspaceSettingsRecord:
    """Returns the settings of the workspace of the transaction.

    Raises:
        NotFound: the workspace was deleted.
    """
    record = await WorkspaceRowStorage(transaction).get(WorkspaceSettingsRecord, workspace_id)
    if record is None:
        raise NotFound
    return record


def _normalize_fields(patch: WorkspacePatch) -> dict[str, object]:
    """Returns the fields sent: event names and approvals in order and once each, the site without a scheme."""
    fields = dict(sent_fields(patch))
    if "write_approvals" in fields:
        strictest = {
            (rule.credential, rule.scope): rule
            for rule in sorted(patch.write_approvals, key=lambda rule: rule.changes, reverse=True)
        }
        fields["write_approvals"] = tuple(strictest[key] for key in sorted(strictest))
    if "plan_tokens" in fields:
        fields["plan_tokens"] = tuple(sorted(set(fields["plan_tokens"])))
    for name in ("conversions", "revenue_events"):
        if fields.get(name) is not None:
            fields[name] = tuple(sorted({event_name.strip() for event_name in fields[name]}))
    if "domain" in fields:
        fields["domain"] = _host_or_none(fields["domain"])
    return fields


def _host_or_none(text: str | None) -> str | None:
    if not (text or "").strip():
        return None
    try:
        return host_of_bare_site_address_or_raise((text or "").strip())
    except ValueError:
        raise BadRequest(
            "The site must be a host name, such as shop.example", "invalid_parameter", field="domain"
        ) from None


def _require_valid(record: WorkspaceSettingsRecord, models: AttributionModels) -> WorkspaceSettingsRecord:
    validate_time_zone(record.timezone)
    validate_analytics_settings(record.to_analytics_settings())
    if record.model is not None:
        require_rule_based_default_model(models, record.model)
    return record


OPERATIONS = (get_workspace_settings, update_workspace)
