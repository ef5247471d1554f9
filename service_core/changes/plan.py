"""What the plans of every type of resource have in common."""

from typing import Any
from uuid import UUID

from service_core.access.model import Caller
from service_core.changes.actor import actor_of
from service_core.changes.model import Action, Change
from service_core.changes.ports import Transaction
from service_core.changes.resource import R, Records, Resource
from service_core.changes.write import Plan
from service_core.kernel.errors import NotFound
from service_core.kernel.ids import new_id


def born(who: Caller) -> dict[str, Any]:
    """What a new record tells of itself (`resource.SILENT`): a new id, and who makes it now."""
    return {
        "id": new_id(),
        "workspace_id": who.workspace.id,
        "created_at": who.now,
        "updated_at": who.now,
        "created_via": who.via,
        "created_by": actor_of(who),
    }


async def live(records: Records, model: type[R], resource_id: UUID) -> R:
    """The record with this id.

    Raises:
        NotFound: there is none, or it was deleted.
    """
    record = await records.get(model, resource_id)
    if record is None:
        raise NotFound
    return record


def deletion(model: type[Resource], resource_id: UUID) -> Plan:
    """The plan of a deleted record; what it was stands in the audit entry, and an undo brings it back.

    Raises:
        NotFound: the workspace has no such record.
    """

    async def plan(unit: Transaction) -> Change:
        return Change(Action.DELETE, await live(unit.resources, model, resource_id), None)

    return plan
