"""Undo: the change that reverses an audit entry."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.access.scopes import require_scope
from service_core.changes.audit_log import PUBLIC_TYPES, AuditEntry
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.resource import Resource, ResourceType
from service_core.kernel.errors import Conflict, NotFound
from service_core.kernel.timestamps import format_timestamp

_CREATING_ACTIONS: Final = frozenset({Action.CREATE, Action.PROPOSE})


def plan_undo(caller: Caller, resource_types: Mapping[str, ResourceType], entry_id: UUID) -> ChangePlanner:
    """Returns the planner that reverses an audit entry.

    Raises:
        NotFound: the workspace has no such entry, or its record is or becomes one that the caller cannot see.
        Forbidden: ``insufficient_scope``, the reversed write needs another scope.
        Conflict: ``undo_create_unsupported``, ``not_undoable``, ``already_undone``, ``resource_changed``.
    """

    async def plan_reversal(transaction: Transaction) -> Change:
        entry = await transaction.audit.get(entry_id)
        resource_type = resource_types.get(entry.resource.type) if entry else None
        if entry is None or resource_type is None or entry.resource.id is None:
            raise NotFound
        require_scope(caller, resource_type.scope)
        _require_reversible(entry)
        current = await resource_type.storage(transaction).get(resource_type.model, entry.resource.id)
        _require_visible(current, caller)
        new = _restore_prior_state_if_unchanged(entry, resource_type, current, caller)
        _require_visible(new, caller)
        if current is None and resource_type.check_restorable:
            await resource_type.check_restorable(transaction.resources, new)
        return Change(Action.UNDO, current, new, undone_entry_id=entry.id)

    return plan_reversal


def _require_visible(record: Resource | None, caller: Caller) -> None:
    if record is not None and not record.is_visible_to(caller):
        raise NotFound


def _require_reversible(entry: AuditEntry) -> None:
    if entry.action in _CREATING_ACTIONS and entry.resource.type not in PUBLIC_TYPES:
        raise Conflict(
            "A creation is not undone; delete the resource",
            "undo_create_unsupported",
            hint="Send DELETE instead.",
        )
    if not entry.has_reversible_action_and_type:
        raise Conflict("This change cannot be undone", "not_undoable")
    if entry.undone_by is not None:
        raise Conflict("This change was undone before", "already_undone")


def _restore_prior_state_if_unchanged(
    entry: AuditEntry, resource_type: ResourceType, current: Resource | None, caller: Caller
) -> Resource:
    """Returns the record as it was before the entry. Raises `Conflict` if it was changed later."""
    state = current.state if current else {}
    if entry.action is Action.DELETE:
        is_unchanged = current is None
    else:
        expected = entry.new_state or {}
        is_unchanged = current is not None and all(
            state.get(name) == value for name, value in expected.items()
        )
    if not is_unchanged:
        raise Conflict("The resource has changed since", "resource_changed")
    now = current.next_updated_at(caller.now) if current else caller.now
    return resource_type.model.model_validate(
        {**state, **(entry.prior_state or {}), "updated_at": format_timestamp(now)}
    )
