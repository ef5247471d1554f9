"""Effects outside the workspace, and how far a change can be taken back."""

from collections.abc import Iterable
from uuid import UUID

from service_core.changes.audit_log import NOT_UNDOABLE_TYPES
from service_core.changes.models import Action, Diff, ResourceRef
from service_core.changes.resource import ResourceType, State
from service_core.kernel.operations import Reversibility
from service_core.kernel.schemas import ResponseModel


class OutsideEffect(ResponseModel):
    """An effect outside the workspace that stays when its change is taken back."""

    audit_id: UUID | None
    resource: ResourceRef
    type: str
    summary: str


def list_outside_effects(
    diff: Diff, resource_type: ResourceType, audit_id: UUID | None
) -> list[OutsideEffect]:
    """Returns the effects of a change that reach outside; one that ends something reaches nobody."""
    return [
        OutsideEffect(
            audit_id=audit_id,
            resource=diff.resource,
            type=effect["type"],
            summary=str(effect.get("summary", "")),
        )
        for effect in _effects_that_reach_outside(diff.effects, resource_type)
    ]


def classify_reversibility(diff: Diff, resource_type: ResourceType) -> Reversibility:
    """Returns how far a change can be taken back once it is made."""
    fields = {change.field for change in diff.changes}
    if diff.action is Action.UPDATE and fields & resource_type.irreversible_fields:
        return Reversibility.IRREVERSIBLE
    has_outside_effects = bool(list_outside_effects(diff, resource_type, None))
    return _reversibility_of_action(diff.action, resource_type, has_outside_effects=has_outside_effects)


def declare_reversibility(action: Action, resource_type: ResourceType) -> Reversibility:
    """Returns how far each change of a kind can be taken back at least, whatever it changes."""
    reaches_outside = bool(resource_type.outside_effects) and action is not Action.DELETE
    return _reversibility_of_action(action, resource_type, has_outside_effects=reaches_outside)


def _reversibility_of_action(
    action: Action, resource_type: ResourceType, *, has_outside_effects: bool
) -> Reversibility:
    model = resource_type.model
    is_final = action in (Action.REVOKE, Action.PROPOSE)
    if is_final or model.resource_type in NOT_UNDOABLE_TYPES:
        return Reversibility.IRREVERSIBLE
    loses_hidden_fields = action is Action.DELETE and bool(model.hidden_fields)
    if loses_hidden_fields or has_outside_effects:
        return Reversibility.REVERSIBLE_WITH_EFFECTS
    return Reversibility.REVERSIBLE


def _effects_that_reach_outside(effects: Iterable[State], resource_type: ResourceType) -> list[State]:
    return [
        effect
        for effect in effects
        if effect.get("type") in resource_type.outside_effects
        and effect.get("operation") != "delete"
        and effect.get("active") is not False
    ]
