"""How a conversion rule is made and changed."""

from typing import Any, Final
from uuid import UUID

from service_core.access.model import Caller
from service_core.changes.model import ASSIGNED, Action, Change
from service_core.changes.plan import born, live
from service_core.changes.ports import Transaction
from service_core.changes.write import Plan
from service_core.workspace.rules.bodies import NewRule, RulePatch
from service_core.workspace.rules.checks import check, check_sent
from service_core.workspace.rules.model import Rule
from service_core.workspace.rules.targets import Targets

_TARGET: Final = frozenset({"platform", "ad_account_id", "asset_id", "platform_event"})
_PLACE: Final = frozenset({"ad_account_id", "asset_id"})
_DEFAULTS: Final = {
    name: field.get_default(call_default_factory=True)
    for name, field in NewRule.model_fields.items()
    if not field.is_required()
}


def create(who: Caller, wanted: NewRule, targets: Targets) -> Plan:
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
        rule = Rule.model_validate({**_aimed(_values(wanted.model_dump()), targets), **born(who)})
        return Change(Action.CREATE, None, check(rule, targets), ASSIGNED)

    return plan


def update(who: Caller, rule_id: UUID, patch: RulePatch, targets: Targets) -> Plan:
    """The plan of a changed rule: only the fields sent change.

    Another platform or asset is a new target; what of it is not sent is chosen as in a new rule. A
    target that stays is not looked up again: a rule may be paused while its platform is not connected.

    Raises:
        NotFound: the workspace has no such rule.
        BadRequest, Unprocessable: as of `create`.
    """

    async def plan(unit: Transaction) -> Change:
        rule = await live(unit.resources, Rule, rule_id)
        sent = _values(patch.model_dump(include=patch.model_fields_set))
        state = {**rule.state, **sent, "updated_at": rule.changed_at(who.now)}
        if not any(name in sent and sent[name] != rule.state[name] for name in _TARGET):
            changed = Rule.model_validate({**state, **{name: rule.state[name] for name in _TARGET}})
            return Change(Action.UPDATE, rule, check_sent(changed, targets))
        if sent.get("platform", rule.platform) != rule.platform or sent.keys() & _PLACE:
            state |= {name: sent.get(name) for name in _PLACE}
        changed = Rule.model_validate(_aimed(state, targets))
        return Change(Action.UPDATE, rule, check(changed, targets))

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


def _aimed(state: dict[str, Any], targets: Targets) -> dict[str, Any]:
    """The state with account and asset filled in."""
    platform = targets.platform(state["platform"])
    account_id, asset_id = targets.place(platform, state["ad_account_id"], state["asset_id"])
    return state | {"ad_account_id": account_id, "asset_id": asset_id}
