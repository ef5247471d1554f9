"""Building blocks for the change planners of resource types."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.actor import build_actor
from service_core.changes.change_executor import ChangePlanner
from service_core.changes.models import Action, Change
from service_core.changes.optimistic_locking import check_not_stale
from service_core.changes.ports import ResourceRepository, Transaction
from service_core.changes.resource import R, RecordReader, RecordStorage, Resource, store_as_resource
from service_core.kernel.errors import NotFound
from service_core.kernel.ids import new_id


def new_record_fields(caller: Caller) -> dict[str, Any]:
    """Returns the metadata fields of a new record (`METADATA_FIELDS`): a new id, the time, and its creator."""
    return {
        "id": new_id(),
        "workspace_id": caller.workspace.id,
        "created_at": caller.now,
        "updated_at": caller.now,
        "created_via": caller.interface,
        "created_by": build_actor(caller),
    }


async def get_or_404(
    records: RecordReader | RecordStorage, model: type[R], resource_id: UUID, caller: Caller | None = None
) -> R:
    """Returns the record with this id.

    Args:
        records: live records of the workspace.
        model: the resource type.
        resource_id: its id.
        caller: who has to be able to see it; None sees every record.

    Raises:
        NotFound: it does not exist, was deleted, or the caller cannot see it.
    """
    record = await records.get(model, resource_id)
    if record is None or not (caller is None or record.is_visible_to(caller)):
        raise NotFound
    return record


def plan_delete(
    model: type[Resource],
    resource_id: UUID,
    caller: Caller | None = None,
    storage: Callable[[Any], RecordStorage] = store_as_resource,
) -> ChangePlanner:
    """Returns the planner of a deletion. The audit entry keeps the deleted state, and an undo restores it.

    Raises:
        NotFound: the workspace has no such record, or the caller cannot see it.
    """

    async def plan(transaction: Transaction) -> Change:
        record = await get_or_404(storage(transaction), model, resource_id, caller)
        return Change(Action.DELETE, record, None)

    return plan


def plan_update(
    model: type[R],
    resource_id: UUID,
    build_updated_record: Callable[[R, ResourceRepository], Awaitable[R]],
    *,
    action: Action = Action.UPDATE,
    expected_updated_at: datetime | None = None,
    caller: Caller | None = None,
    storage: Callable[[Any], RecordStorage] = store_as_resource,
) -> ChangePlanner:
    """Returns the planner of an update.

    Args:
        model: its type.
        resource_id: its id.
        build_updated_record: returns the changed record for the stored one and the records of the workspace.
        action: kind of the change in the audit entry.
        expected_updated_at: the version the caller has read; None accepts any.
        caller: who has to be able to see it; None sees every record.
        storage: where its records are kept.

    Raises:
        NotFound: the workspace has no such record, or the caller cannot see it.
        Conflict: ``stale_update``, somebody else has changed it since.
    """

    async def plan(transaction: Transaction) -> Change:
        record = await get_or_404(storage(transaction), model, resource_id, caller)
        check_not_stale(record, expected_updated_at)
        return Change(action, record, await build_updated_record(record, transaction.resources))

    return plan
