"""Which audit entries a caller can see: those of records that the caller can see."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.audit_log import AuditEntry, AuditFilter
from service_core.changes.ports import Transaction
from service_core.changes.resource import Resource, ResourceType

_NO_LATEST_TIME: Final = datetime.max.replace(tzinfo=UTC)


async def visible_entries(
    entries: Sequence[AuditEntry],
    caller: Caller,
    resource_types: Mapping[str, ResourceType],
    transaction: Transaction,
) -> list[AuditEntry]:
    """Returns the entries of records that the caller can see now, or could see when they were deleted."""
    visible_by_id: dict[UUID, bool] = {}
    visible = []
    for entry in entries:
        id_, resource_type = entry.resource.id, resource_types.get(entry.resource.type)
        if id_ is None or resource_type is None or not _has_private_records(resource_type):
            visible.append(entry)
            continue
        if id_ not in visible_by_id:
            record = await _present_or_deleted_record(id_, resource_type, transaction)
            visible_by_id[id_] = record is not None and record.is_visible_to(caller)
        if visible_by_id[id_]:
            visible.append(entry)
    return visible


def _has_private_records(resource_type: ResourceType) -> bool:
    return resource_type.model.is_visible_to is not Resource.is_visible_to


async def _present_or_deleted_record(
    id_: UUID, resource_type: ResourceType, transaction: Transaction
) -> Resource | None:
    """Returns the record, after its deletion as it was before; None if the audit log does not have it."""
    present = await transaction.resources.get(resource_type.model, id_)
    if present is not None:
        return present
    newest = await transaction.audit.list_entries(AuditFilter(until=_NO_LATEST_TIME, resource_id=id_), 1, 0)
    if not newest or newest[0].new_state is not None:
        return None
    return resource_type.model.model_validate(newest[0].prior_state)
