"""The inverse of an audit entry of any kind, creations and undos included."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from service_core.access.models import Caller
from service_core.changes.audit_log import NOT_UNDOABLE_TYPES, PUBLIC_TYPES, AuditEntry
from service_core.changes.models import Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.resource import RecordReader, Resource, ResourceType, State
from service_core.kernel.errors import Conflict
from service_core.kernel.timestamps import format_timestamp

_FINAL_ACTIONS: Final = frozenset({Action.PROPOSE, Action.REVOKE})


async def plan_inverse(
    caller: Caller, resource_type: ResourceType, entry: AuditEntry, transaction: Transaction
) -> Change:
    """Returns the change that takes an entry back: a creation is deleted, or retired if its type has no deletion.

    Raises:
        Conflict: ``not_undoable``; ``resource_changed``, the record is not as the entry left it.
        ApiError: the record cannot be restored.
    """
    _require_invertible(entry)
    assert entry.resource.id is not None, "an applied change has a record"
    current = await resource_type.storage(transaction).get(resource_type.model, entry.resource.id)
    _require_unchanged_since(entry, current)
    new = _state_before(entry, resource_type, current, caller.now)
    if current is None and new is not None and resource_type.check_restorable:
        await resource_type.check_restorable(transaction.resources, new)
    return Change(Action.UNDO, current, new, undone_entry_id=entry.id)


async def list_dependents(
    record: Resource, resource_types: Mapping[str, ResourceType], records: RecordReader, now: datetime
) -> list[Resource]:
    """Returns the records that mention a record's id, of all types; retired ones do not count."""
    found: list[Resource] = []
    for resource_type in resource_types.values():
        mentioning = await records.list_all(resource_type.model, mentioning_id=record.id)
        found += [
            other
            for other in mentioning
            if other.id != record.id and not _is_retired(other, resource_type, now)
        ]
    return found


def _is_retired(record: Resource, resource_type: ResourceType, now: datetime) -> bool:
    return resource_type.retire is not None and resource_type.retire(record, now) == record


def touched_fields(entry: AuditEntry) -> frozenset[str] | None:
    """Returns the fields an entry changed; None for all, of a creation or deletion."""
    if entry.prior_state is None or entry.new_state is None:
        return None
    return frozenset(change.field.partition(".")[0] for change in entry.changes)


def _require_invertible(entry: AuditEntry) -> None:
    is_retired = entry.action is Action.UNDO and entry.resource.type in PUBLIC_TYPES
    if entry.action in _FINAL_ACTIONS or entry.resource.type in NOT_UNDOABLE_TYPES or is_retired:
        raise Conflict("This change cannot be undone", "not_undoable")


def _require_unchanged_since(entry: AuditEntry, current: Resource | None) -> None:
    """Raises `Conflict` unless the record has the values that the entry gave it."""
    expected = entry.new_state
    if expected is None or current is None:
        is_unchanged = expected is None and current is None
    else:
        is_unchanged = _has_values(current.public_state, expected)
    if not is_unchanged:
        raise Conflict("The resource has changed since", "resource_changed")


def _has_values(state: State, expected: State) -> bool:
    return all(state.get(name) == value for name, value in expected.items() if name != "updated_at")


def _state_before(
    entry: AuditEntry, resource_type: ResourceType, current: Resource | None, now: datetime
) -> Resource | None:
    if entry.prior_state is None:
        return resource_type.retire(current, now) if resource_type.retire and current else None
    changed_at = current.next_updated_at(now) if current else now
    return resource_type.model.model_validate(
        {
            **(current.state if current else {}),
            **entry.prior_state,
            "updated_at": format_timestamp(changed_at),
        }
    )
