"""Change sets: several writes planned against one state and applied all or none with a single-use token."""

import hmac
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, ClassVar, Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.changes.batched_writes import AppliedWrite, BatchExecutor, WriteRequest
from service_core.changes.models import Change, FieldChange
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import new_record_fields
from service_core.changes.resource import MillisecondDatetime, Resource
from service_core.kernel.errors import Conflict
from service_core.kernel.ids import sha256_hex
from service_core.kernel.timestamps import format_timestamp

PLAN_LIFETIME: Final = timedelta(minutes=15)


class ChangeSetStatus(StrEnum):
    """Status of a change set; a waiting one was applied with its token, and a person has to approve it."""

    PLANNED = "planned"
    WAITING = "waiting"
    APPLIED = "applied"
    UNDONE = "undone"


class ChangeSet(Resource):
    """Planned writes, and what became of them. Its name is the note of the requester.

    Attributes:
        requests: the writes as they were planned; empty once they were applied.
        requester_id: the credential that planned them.
        token_digest: SHA-256 of the plan token.
        plan_digest: digest of the plan and the versions it read.
        audit_ids: entries of the applied changes, in their order.
    """

    resource_type: ClassVar[str] = "change_set"
    hidden_fields: ClassVar[frozenset[str]] = frozenset({"token_digest", "plan_digest"})

    requests: tuple[dict[str, Any], ...]
    requester_id: UUID
    token_digest: str
    plan_digest: str
    plan_expires_at: MillisecondDatetime
    status: ChangeSetStatus = ChangeSetStatus.PLANNED
    audit_ids: tuple[UUID, ...] = ()


def new_change_set(
    caller: Caller, requests: Sequence[WriteRequest], note: str | None, *, token: str, plan_digest: str
) -> ChangeSet:
    """Returns a planned change set of the caller."""
    return ChangeSet(
        **new_record_fields(caller),
        name=note or "",
        requests=tuple(request.model_dump(mode="json") for request in requests),
        requester_id=caller.credential.id,
        token_digest=sha256_hex(token),
        plan_digest=plan_digest,
        plan_expires_at=caller.now + PLAN_LIFETIME,
    )


def digest_plan(executor: BatchExecutor) -> str:
    """Returns a digest of what a batch changes and of the versions it read; new ids and times do not matter."""
    created = [str(write.change.resource.id) for write in executor.writes if write.change.prior is None]
    versions = {id_: version for id_, version in executor.reads.items() if id_ not in created}
    content = [_describe_writes(executor.writes), sorted(versions.items())]
    text = json.dumps(content, sort_keys=True, default=str)
    for position, id_ in enumerate(created):
        text = text.replace(id_, f"$created[{position}]")
    return sha256_hex(text)


def _describe_writes(writes: Sequence[AppliedWrite]) -> list[list[Any]]:
    """Returns each write with the state it found; a state that an earlier write of the batch left follows from that."""
    described, written = [], set()
    for write in writes:
        change, diff = write.change, write.preview.diff
        is_written_before = change.resource.id in written
        changes = [
            each.model_dump(mode="json", by_alias=True, exclude={"from_"} if is_written_before else None)
            | _time_relative_to_change(change, each)
            for each in diff.changes
        ]
        prior = None if is_written_before else change.states[0]
        described.append([diff.action, diff.resource.type, diff.resource.label, prior, changes])
        written.add(change.resource.id)
    return described


def _time_relative_to_change(change: Change, changed: FieldChange) -> dict[str, str]:
    """Returns what stands for a new timestamp that depends on when the change is made; nothing for other values."""
    new = change.new
    if new is not None and changed.to == format_timestamp(new.updated_at):
        return {"to": "now"}
    if new is not None and changed.field in change.fields_counted_from_now:
        return {"to": str(getattr(new, changed.field) - new.created_at)}
    return {}


def check_plan_token(change_set: ChangeSet, token: str, caller: Caller) -> None:
    """Refuses a token that is not that of the plan, of another requester, used, or expired.

    Raises:
        Conflict: ``plan_token_invalid``.
    """
    is_own = change_set.requester_id == caller.credential.id
    if not is_own or not hmac.compare_digest(change_set.token_digest, sha256_hex(token)):
        raise Conflict("This plan token does not belong to the plan and its requester", "plan_token_invalid")
    require_unused_plan_token(change_set)
    if caller.now >= change_set.plan_expires_at:
        raise Conflict("This plan token has expired", "plan_token_invalid", hint="Plan the changes again.")


def require_unused_plan_token(change_set: ChangeSet) -> None:
    """Refuses a change set whose token was used.

    Raises:
        Conflict: ``plan_token_invalid``.
    """
    if change_set.status is not ChangeSetStatus.PLANNED:
        raise Conflict("This plan token was used before", "plan_token_invalid")


async def save_status(
    transaction: Transaction,
    change_set: ChangeSet,
    now: datetime,
    status: ChangeSetStatus,
    audit_ids: Sequence[UUID],
) -> None:
    """Saves what became of a change set, without its requests: nothing reads them from then on."""
    changed = change_set.with_fields(now, status=status, audit_ids=tuple(audit_ids), requests=())
    await transaction.resources.save(changed)


async def save_plan_and_delete_expired(
    transaction: Transaction, change_set: ChangeSet, now: datetime
) -> None:
    """Saves a planned change set, and deletes the plans of its workspace that have expired."""
    await transaction.resources.purge_created_until(
        ChangeSet, now - PLAN_LIFETIME, field_filters={"status": ChangeSetStatus.PLANNED.value}
    )
    await transaction.resources.save(change_set)
