"""Taking a change back: the inverse of an audit entry, or the reason why there is none (contract 5.4)."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from service_core.access.model import Caller
from service_core.access.scopes import require_scope
from service_core.changes.entry import PUBLISHED, AuditEntry
from service_core.changes.model import Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.resource import Kind, Resource
from service_core.changes.write import Plan
from service_core.kernel.errors import Conflict, NotFound
from service_core.kernel.instants import wire

_MADE: Final = frozenset({Action.CREATE, Action.PROPOSE})


def undo(who: Caller, kinds: Mapping[str, Kind], entry_id: UUID) -> Plan:
    """The plan that takes an entry back.

    Raises:
        NotFound: the workspace has no such entry.
        Forbidden: ``insufficient_scope``, the write it reverses needs another scope.
        Conflict: ``undo_create_unsupported``, ``not_undoable``, ``already_undone``, ``resource_changed``.
    """

    async def plan(unit: Transaction) -> Change:
        entry = await unit.audit.get(entry_id)
        kind = kinds.get(entry.resource.type) if entry else None
        if entry is None or kind is None or entry.resource.id is None:
            raise NotFound
        require_scope(who, kind.scope)
        _require_reversible(entry)
        current = await unit.resources.get(kind.model, entry.resource.id)
        new = _restored(entry, kind, current, who)
        if current is None and kind.standing:
            await kind.standing(unit.resources, new)
        return Change(Action.UNDO, current, new, undoes=entry.id)

    return plan


def _require_reversible(entry: AuditEntry) -> None:
    if entry.action in _MADE and entry.resource.type not in PUBLISHED:
        raise Conflict(
            "What was created is not undone; delete it",
            "undo_create_unsupported",
            hint="Send DELETE instead.",
        )
    if not entry.is_reversible:
        raise Conflict("This change cannot be undone", "not_undoable")
    if entry.undone_by is not None:
        raise Conflict("This change was undone before", "already_undone")


def _restored(entry: AuditEntry, kind: Kind, current: Resource | None, who: Caller) -> Resource:
    """The record as it stood before the entry; nothing that came later is overwritten."""
    state = current.state if current else {}
    if entry.action is Action.DELETE:
        untouched = current is None
    else:
        wanted = entry.new_state or {}
        untouched = current is not None and all(state.get(name) == value for name, value in wanted.items())
    if not untouched:
        raise Conflict("The resource has changed since", "resource_changed")
    now = current.changed_at(who.now) if current else who.now
    return kind.model.model_validate({**state, **(entry.prior_state or {}), "updated_at": wire(now)})
