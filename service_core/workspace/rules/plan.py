"""How a conversion rule is made and changed."""

from typing import Any, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import GENERATED_FIELDS, Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404, new_record_fields
from service_core.workspace.rules.models import ConversionRule
from service_core.workspace.rules.rule_targets import RuleTargets
from service_core.workspace.rules.schemas import NewRule, RulePatch
from service_core.workspace.rules.validate_rule import validate_rule, validate_without_target

_TARGET: Final = frozenset({"platform", "ad_account_id", "asset_id", "platform_event"})
_PLACE: Final = frozenset({"ad_account_id", "asset_id"})
_DEFAULTS: Final = {
    name: field.get_default(call_default_factory=True)
    for name, field in NewRule.model_fields.items()
    if not field.is_required()
}


def create(caller: Caller, wanted: NewRule, targets: RuleTargets) -> ChangePlanner:
    """The plan of a new rule.

    Args:
        who: whose rule it is.
        wanted: what the request says.
        targets: what the workspace has connected.

    Raises:
        BadRequest: ``invalid_parameter``, ``missing_field``.
        Unprocessable: ``platform_not_connected``, ``unknown_asset``, ``invalid_platform_event``,
            ``invalid_field``, ``invalid_filter``.
    """

    async def plan(unit: Transaction) -> Change:  # noqa: ARG001 - what it needs is read already
        rule = ConversionRule.model_validate(
            {**_aimed(_values(wanted.model_dump()), targets), **new_record_fields(caller)}
        )
        return Change(Action.CREATE, None, validate_rule(rule, targets), GENERATED_FIELDS)

    return plan


def update(caller: Caller, rule_id: UUID, patch: RulePatch, targets: RuleTargets) -> ChangePlanner:
    """The plan of a changed rule: only the fields sent change.

    Another platform or asset is a new target; what of it is not sent is chosen as in a new rule. A
    target that stays is not looked up again: a rule may be paused while its platform is not connected.

    Raises:
        NotFound: the workspace has no such rule.
        BadRequest, Unprocessable: as of `create`.
    """

    async def plan(unit: Transaction) -> Change:
        rule = await get_or_404(unit.resources, ConversionRule, rule_id)
        sent = _values(patch.model_dump(include=patch.model_fields_set))
        state = {**rule.state, **sent, "updated_at": rule.next_updated_at(caller.now)}
        if not any(name in sent and sent[name] != rule.state[name] for name in _TARGET):
            changed = ConversionRule.model_validate({**state, **{name: rule.state[name] for name in _TARGET}})
            return Change(Action.UPDATE, rule, validate_without_target(changed, targets))
        if sent.get("platform", rule.platform) != rule.platform or sent.keys() & _PLACE:
            state |= {name: sent.get(name) for name in _PLACE}
        changed = ConversionRule.model_validate(_aimed(state, targets))
        return Change(Action.UPDATE, rule, validate_rule(changed, targets))

    return plan


def _values(sent: dict[str, Any]) -> dict[str, Any]:
    """Values as they are kept: null and the empty text give an optional field its default."""
    kept = {
        name: _DEFAULTS[name] if value in (None, "") and name in _DEFAULTS else value
        for name, value in sent.items()
    }
    if kept.get("currency"):
        kept["currency"] = kept["currency"].upper()
    return {name: "" if value is None and name not in _DEFAULTS else value for name, value in kept.items()}


def _aimed(state: dict[str, Any], targets: RuleTargets) -> dict[str, Any]:
    """The state with account and asset filled in."""
    platform = targets.get_platform(state["platform"])
    account_id, asset_id = targets.resolve_destination(platform, state["ad_account_id"], state["asset_id"])
    return state | {"ad_account_id": account_id, "asset_id": asset_id}
