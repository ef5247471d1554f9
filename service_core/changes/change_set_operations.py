"""Endpoints that plan, apply and undo several changes as one."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.models import Caller
from service_core.access.scopes import require_scope
from service_core.changes.audit_visibility import visible_entries
from service_core.changes.batched_writes import (
    BatchExecutor,
    WriteRequest,
    WriteRoutes,
    apply_writes_in_transaction,
    prepare_writes,
)
from service_core.changes.change_executor import BatchOutcome, ChangeExecutor, is_dry_run
from service_core.changes.change_sets import (
    ChangeSet,
    ChangeSetStatus,
    check_plan_token,
    digest_plan,
    new_change_set,
    save_plan_and_delete_expired,
    save_status,
)
from service_core.changes.envelope import Envelope
from service_core.changes.models import Change
from service_core.changes.planned_writes import PlannedChange, plan_writes
from service_core.changes.ports import Transaction
from service_core.changes.record_plans import get_or_404
from service_core.changes.resource import MillisecondDatetime
from service_core.changes.reversal import list_dependents, plan_inverse
from service_core.changes.schemas import DryRunBody
from service_core.changes.write_requirements import ApprovalRequired
from service_core.kernel.errors import BadRequest, Conflict, NotFound, Unprocessable
from service_core.kernel.ids import new_token
from service_core.kernel.operations import (
    ANY_SCOPE,
    HandlerResponse,
    RateLimitClass,
    Reversibility,
    operation,
)
from service_core.kernel.schemas import BodyModel, ResponseModel


class PlanChangesBody(BodyModel):
    """Body of `POST /change-sets`."""

    changes: Annotated[list[WriteRequest], Field(min_length=1, max_length=50)]
    note: Annotated[str | None, Field(max_length=500)] = None


class PlannedChangeSet(ResponseModel):
    """A plan, and the token that applies it."""

    id: UUID
    changes: list[PlannedChange]
    effects: list[dict[str, Any]]
    plan_token: str
    expires_at: MillisecondDatetime


class ChangeSetPath(BaseModel):
    """Path parameters."""

    changeSetId: UUID  # noqa: N815 - as in the path


class ApplyChangeSetBody(DryRunBody):
    """Body of `POST /change-sets/{changeSetId}/apply`."""

    plan_token: str


class ChangeSetResult(ResponseModel):
    """What applying or undoing a change set did, or would do."""

    id: UUID
    dry_run: bool
    applied: bool
    changes: list[Envelope]


@operation(
    "POST /change-sets",
    scope=ANY_SCOPE,
    rate_limit=RateLimitClass.DRY_RUN,
    tag="change-sets",
    errors=(404, 409, 422),
    tool="plan_changes",
)
async def plan_change_set(
    body: PlanChangesBody, *, caller: Caller, executor: ChangeExecutor, routes: WriteRoutes
) -> PlannedChangeSet:
    """Plan 1 to 50 writes against one state; nothing is changed.

    Answers every diff and effect, and how far each change can be taken back. `plan_token` applies exactly this plan, once,
    within 15 minutes, for the credential that planned it.
    """
    token = new_token()
    plan = await plan_writes(caller, executor, routes, body.changes)
    change_set = new_change_set(caller, body.changes, body.note, token=token, plan_digest=plan.digest)
    async with executor.transactions.write(caller.workspace.id) as transaction:
        await save_plan_and_delete_expired(transaction, change_set, caller.now)
    return PlannedChangeSet(
        id=change_set.id,
        changes=list(plan.changes),
        effects=plan.effects,
        plan_token=token,
        expires_at=change_set.plan_expires_at,
    )


@operation(
    "POST /change-sets/{changeSetId}/apply",
    scope=ANY_SCOPE,
    rate_limit=RateLimitClass.MUTATION,
    tag="change-sets",
    errors=(409, 422),
    idempotent=True,
    reversibility=Reversibility.IRREVERSIBLE,
)
async def apply_change_set(
    path: ChangeSetPath,
    body: ApplyChangeSetBody,
    *,
    caller: Caller,
    executor: ChangeExecutor,
    routes: WriteRoutes,
) -> HandlerResponse[ChangeSetResult]:
    """Apply a planned change set, all of it or nothing.

    A state that has changed since the plan is 409 `plan_outdated`; a token that is used, expired or of another
    requester is 409 `plan_token_invalid`.
    """
    dry_run = is_dry_run(caller, body.dry_run)

    async with executor.transactions.read(caller.workspace.id) as reading:
        planned = await get_or_404(reading.resources, ChangeSet, path.changeSetId)
    requests = [WriteRequest.model_validate(request) for request in planned.requests]
    prepared = await prepare_writes(caller, executor, routes, requests)

    async def apply_all(transaction: Transaction) -> BatchOutcome[ChangeSetResult]:
        change_set = await get_or_404(transaction.resources, ChangeSet, path.changeSetId)
        check_plan_token(change_set, body.plan_token, caller)
        batch = BatchExecutor(executor, transaction, prepared)
        try:
            answers = await apply_writes_in_transaction(caller, batch, routes, requests)
        except (BadRequest, Conflict, NotFound, Unprocessable) as refusal:
            raise _plan_outdated() from refusal
        if digest_plan(batch) != change_set.plan_digest:
            raise _plan_outdated()
        audit_ids = [answer.audit_id for answer in answers if answer.audit_id is not None]
        await save_status(transaction, change_set, caller.now, ChangeSetStatus.APPLIED, audit_ids)
        return _build_batch_outcome(change_set, batch, answers, dry_run=dry_run)

    try:
        return await executor.preview_or_apply_batch(
            caller, ChangeSetResult, apply_all, dry_run=dry_run, is_planned=True
        )
    except ApprovalRequired:
        raise ApprovalRequired(planned.requests, planned.id, planned.name) from None


@operation(
    "POST /change-sets/{changeSetId}/undo",
    scope=ANY_SCOPE,
    rate_limit=RateLimitClass.MUTATION,
    tag="change-sets",
    errors=(409,),
    body_optional=True,
    idempotent=True,
    reversibility=Reversibility.REVERSIBLE_WITH_EFFECTS,
)
async def undo_change_set(
    path: ChangeSetPath, body: DryRunBody, *, caller: Caller, executor: ChangeExecutor
) -> HandlerResponse[ChangeSetResult]:
    """Take back an applied change set, creations included, all of it or nothing.

    Later changes are not overwritten: 409 `resource_changed`.
    """
    dry_run = is_dry_run(caller, body.dry_run)

    async def undo_all(transaction: Transaction) -> BatchOutcome[ChangeSetResult]:
        change_set = await get_or_404(transaction.resources, ChangeSet, path.changeSetId)
        if change_set.status is not ChangeSetStatus.APPLIED:
            is_undone = change_set.status is ChangeSetStatus.UNDONE
            raise Conflict("Nothing is applied to undo", "already_undone" if is_undone else "not_undoable")
        batch = BatchExecutor(executor, transaction)
        answers = [await _undo_entry(caller, batch, audit_id) for audit_id in reversed(change_set.audit_ids)]
        status, audit_ids = ChangeSetStatus.UNDONE, change_set.audit_ids
        await save_status(transaction, change_set, caller.now, status, audit_ids)
        return _build_batch_outcome(change_set, batch, answers, dry_run=dry_run)

    return await executor.preview_or_apply_batch(caller, ChangeSetResult, undo_all, dry_run=dry_run)


async def _undo_entry(caller: Caller, batch: BatchExecutor, audit_id: UUID) -> Envelope:
    async def plan(transaction: Transaction) -> Change:
        entry = await transaction.audit.get(audit_id)
        resource_type = batch.resource_types.get(entry.resource.type) if entry else None
        if entry is None or resource_type is None:
            raise NotFound
        require_scope(caller, resource_type.scope)
        if not await visible_entries([entry], caller, batch.resource_types, transaction):
            raise NotFound
        if entry.undone_by is not None:
            raise Conflict("A change of this set was undone before", "already_undone")
        change = await plan_inverse(caller, resource_type, entry, transaction)
        is_deletion = change.new is None and change.prior is not None
        if is_deletion and await list_dependents(
            change.resource, batch.resource_types, transaction.resources, caller.now
        ):
            raise Conflict("Something made later refers to what this set created", "resource_changed")
        return change

    response = await batch.preview_or_apply_change(caller, plan, dry_run=False)
    return response.body


def _plan_outdated() -> Conflict:
    return Conflict(
        "What the plan was made against has changed", "plan_outdated", hint="Plan the changes again."
    )


def _build_batch_outcome(
    change_set: ChangeSet, batch: BatchExecutor, answers: Sequence[Envelope], *, dry_run: bool
) -> BatchOutcome[ChangeSetResult]:
    """Returns the result of a batch: of a dry run the previews, for a retry the answers without secrets."""

    def result(envelopes: Sequence[Envelope]) -> ChangeSetResult:
        return ChangeSetResult(
            id=change_set.id, dry_run=dry_run, applied=not dry_run, changes=list(envelopes)
        )

    return BatchOutcome(
        result([write.preview for write in batch.writes] if dry_run else answers),
        [write.change for write in batch.writes],
        [write.envelope.diff for write in batch.writes],
        result([write.envelope for write in batch.writes]),
    )


OPERATIONS = (plan_change_set, apply_change_set, undo_change_set)
