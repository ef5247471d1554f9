"""Executes changes: plan, dry run or apply, audit entry, idempotency record, response."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel

from service_core.access.models import Caller, RequestInterface
from service_core.changes.actor import build_named_actor, name_person
from service_core.changes.audit_log import AuditEntry
from service_core.changes.envelope import Envelope
from service_core.changes.idempotency import (
    RECORD_LIFETIME,
    InFlightRequests,
    idempotency_digest,
    request_in_progress_error,
)
from service_core.changes.models import Change, Diff
from service_core.changes.outside_effects import classify_reversibility
from service_core.changes.ports import (
    AuditLog,
    RequestInProgress,
    Transaction,
    Transactions,
    UniqueKeyConflict,
)
from service_core.changes.resource import RecordStorage, ResourceType, State
from service_core.changes.saved_properties import require_read_scope_for_saved_properties
from service_core.changes.write_requirements import (
    require_approval_if_policy_demands_it,
    require_plan_token,
)
from service_core.kernel.errors import ApiError, Conflict
from service_core.kernel.ids import new_id
from service_core.kernel.operations import HandlerResponse

ChangePlanner = Callable[[Transaction], Awaitable[Change]]
"""Reads what it needs and returns the change; raises an `ApiError` if a rule forbids it. It writes nothing."""

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class BatchOutcome(Generic[Answer]):
    """What a batch of changes did.

    Attributes:
        answer: the answer to the request.
        changes: those that were applied.
        diffs: of these changes.
        replayed_answer: what a retry with the same ``Idempotency-Key`` gets, without secrets that are shown once;
            None for the answer itself.
    """

    answer: Answer
    changes: Sequence[Change]
    diffs: Sequence[Diff]
    replayed_answer: Answer | None = None


REPLAY_HEADERS: Final[Mapping[str, str]] = {"Idempotent-Replay": "true"}


def is_dry_run(caller: Caller, requested: bool | None) -> bool:
    """Returns whether a request changes nothing.

    Args:
        caller: of the request.
        requested: ``dry_run`` of the request; None means False over HTTP and True over MCP.
    """
    return caller.interface is RequestInterface.MCP if requested is None else requested


class ChangeExecutor:
    """Executes planned changes.

    Args:
        transactions: opens transactions of the workspace store.
        resource_types: the writable resource types.
    """

    def __init__(self, transactions: Transactions, resource_types: Iterable[ResourceType]) -> None:
        self.transactions: Final = transactions
        self.resource_types: Final[Mapping[str, ResourceType]] = {
            resource_type.model.resource_type: resource_type for resource_type in resource_types
        }
        self._in_flight = InFlightRequests()

    async def prepare_before_transaction(self, prepare: Callable[[], Awaitable[Any]]) -> Any:
        """Returns what a write reads before its transaction begins."""
        return await prepare()

    async def preview_or_apply_change(
        self, caller: Caller, planner: ChangePlanner, *, dry_run: bool | None
    ) -> HandlerResponse[Envelope]:
        """Plans a change and applies it, or shows it in a dry run.

        Args:
            caller: the workspace and the actor of the change.
            planner: returns the change.
            dry_run: as requested; None means False over HTTP and True over MCP.

        Raises:
            ApiError: raised by the planner; a unique key conflict; ``idempotency_in_progress``; ``plan_required``.
            ApprovalRequired: a person has to approve the change.
        """
        if is_dry_run(caller, dry_run):
            return HandlerResponse(await self._preview_with_warnings(caller, planner), 200)
        require_plan_token(caller)
        digest = idempotency_digest(caller)
        with self._in_flight.mark_running_or_conflict(digest):
            try:
                return await self._replay_or_apply_change(caller, planner, digest)
            except RequestInProgress:
                raise request_in_progress_error() from None

    async def _preview_with_warnings(self, caller: Caller, planner: ChangePlanner) -> Envelope:
        async with self.transactions.read(caller.workspace.id) as transaction:
            change = await planner(transaction)
            envelope = await self.preview_in_transaction(caller, transaction, change)
        return envelope.with_effects(await self.list_warnings(caller, change, dry_run=True))

    async def preview_in_transaction(
        self, caller: Caller, transaction: Transaction, change: Change
    ) -> Envelope:
        """Returns the envelope of a change that is not made.

        Raises:
            ApiError: its type does not permit it, or a unique key conflict.
        """
        await self._check_permitted(caller, change, transaction)
        if change.new is not None:
            current_keys = change.prior.unique_keys() if change.prior else ()
            for key in change.new.unique_keys():
                if key not in current_keys and await transaction.resources.is_key_in_use(key):
                    raise change.new.unique_key_error(key)
        return await self._build_envelope(transaction, change, dry_run=True)

    async def _replay_or_apply_change(
        self, caller: Caller, planner: ChangePlanner, digest: str | None
    ) -> HandlerResponse[Envelope]:
        async with self.transactions.write(caller.workspace.id, digest) as transaction:
            stored_answer = (
                await transaction.idempotency.find_unexpired_answer(digest, caller.now) if digest else None
            )
            if stored_answer is not None:
                return HandlerResponse(Envelope.model_validate(stored_answer), 200, REPLAY_HEADERS)
            change = await planner(transaction)
            envelope = await self.apply_in_transaction(caller, transaction, change)
            if envelope.applied:
                require_approval_if_policy_demands_it(caller, [envelope.diff], self.resource_types)
                await _save_answer_if_idempotent(transaction, caller, digest, envelope)
                await self.update_copies(transaction, change)
        return HandlerResponse(envelope.with_effects(await self._list_warnings_if_known(caller, change)), 200)

    async def _list_warnings_if_known(self, caller: Caller, change: Change) -> Sequence[State]:
        """Returns the warnings of an applied change; none if they cannot be read, because the change is made."""
        try:
            return await self.list_warnings(caller, change, dry_run=False)
        except ApiError:
            return ()

    async def preview_or_apply_batch(
        self,
        caller: Caller,
        answer: type[Answer],
        run_batch: Callable[[Transaction], Awaitable[BatchOutcome[Answer]]],
        *,
        dry_run: bool,
        is_planned: bool = False,
    ) -> HandlerResponse[Answer]:
        """Runs several changes in one transaction, all or none; a dry run rolls the transaction back.

        Args:
            caller: the workspace and the actor of the changes.
            answer: model of the answer, to replay it.
            run_batch: applies the changes by `apply_in_transaction` and returns what they did.
            dry_run: whether nothing is kept.
            is_planned: whether the token of a plan was sent, or a person approved it.

        Raises:
            ApiError: raised by ``run_batch``; ``idempotency_in_progress``; ``plan_required``.
            ApprovalRequired: a person has to approve the changes.
        """
        if not (dry_run or is_planned):
            require_plan_token(caller)
        digest = None if dry_run else idempotency_digest(caller)
        with self._in_flight.mark_running_or_conflict(digest):
            try:
                return await self._replay_or_run_batch(caller, answer, run_batch, digest, dry_run=dry_run)
            except _BatchRolledBack as rolled_back:
                return HandlerResponse(rolled_back.answer, 200)
            except RequestInProgress:
                raise request_in_progress_error() from None

    async def _replay_or_run_batch(
        self,
        caller: Caller,
        answer: type[Answer],
        run_batch: Callable[[Transaction], Awaitable[BatchOutcome[Answer]]],
        digest: str | None,
        *,
        dry_run: bool,
    ) -> HandlerResponse[Answer]:
        async with self.transactions.write(caller.workspace.id, digest) as transaction:
            stored = (
                await transaction.idempotency.find_unexpired_answer(digest, caller.now) if digest else None
            )
            if stored is not None:
                return HandlerResponse(answer.model_validate(stored), 200, REPLAY_HEADERS)
            outcome = await run_batch(transaction)
            if dry_run:
                raise _BatchRolledBack(outcome.answer)
            require_approval_if_policy_demands_it(caller, outcome.diffs, self.resource_types)
            replayed_answer = outcome.replayed_answer or outcome.answer
            await _save_answer_if_idempotent(transaction, caller, digest, replayed_answer)
            for change in outcome.changes:
                await self.update_copies(transaction, change)
        return HandlerResponse(outcome.answer, 200)

    async def apply_in_transaction(
        self, caller: Caller, transaction: Transaction, change: Change
    ) -> Envelope:
        """Applies a change with its audit entry, without updating copies of the record elsewhere.

        Raises:
            ApiError: its type does not permit it, or a unique key conflict.
        """
        await self._check_permitted(caller, change, transaction)
        if change.is_empty:
            return await self._build_envelope(transaction, change, dry_run=False)
        resource_type, audit_id = self._type_of(change), new_id()
        envelope = await self._build_envelope(transaction, change, dry_run=False, audit_id=audit_id)
        await _save_or_remove_records(transaction, resource_type.storage(transaction), change, caller.now)
        if resource_type.triggers:
            await transaction.triggers.replace_trigger_event_names(
                await resource_type.triggers(transaction.resources)
            )
        await _add_audit_entry_and_mark_undone(transaction, caller, change, envelope, audit_id)
        return envelope

    async def list_warnings(self, caller: Caller, change: Change, *, dry_run: bool) -> Sequence[State]:
        """Returns effects that warn of what the new state of a change may have got wrong."""
        new = change.new_state_without_hidden_fields(dry_run=dry_run)
        return () if change.is_empty else await self._type_of(change).warnings(caller, new)

    async def update_copies(self, transaction: Transaction, change: Change) -> None:
        """Updates copies of a changed record elsewhere, such as the cache of redirects."""
        on_change = self._type_of(change).on_change
        if on_change:
            await on_change(transaction.resources, *change.states)

    async def _check_permitted(self, caller: Caller, change: Change, transaction: Transaction) -> None:
        """Raises `Forbidden` if the type of a change, or the scope of reads, does not permit the caller to make it."""
        if not change.is_empty:
            self._type_of(change).check_permitted(caller, *change.states)
            types = self.resource_types.values()
            await require_read_scope_for_saved_properties(caller, change, types, transaction)

    async def _build_envelope(
        self,
        transaction: Transaction,
        change: Change,
        *,
        dry_run: bool,
        audit_id: UUID | None = None,
    ) -> Envelope:
        """Returns the answer to a write; the change is applied when it has an audit entry."""
        resource_type, records = self._type_of(change), transaction.resources
        effects: Sequence[State] = ()
        if not change.is_empty:
            prior, new = change.public_states(dry_run=dry_run)
            effects = await resource_type.effects(records, prior, new)
        envelope = Envelope.from_change(
            change,
            effects,
            await resource_type.serializer(records, [change.resource]),
            dry_run=dry_run,
            audit_id=audit_id,
        )
        if change.is_empty:
            return envelope
        reversibility = classify_reversibility(envelope.diff, resource_type)
        return envelope.model_copy(update={"reversibility": reversibility})

    def _type_of(self, change: Change) -> ResourceType:
        return self.resource_types[change.resource.resource_type]


class _BatchRolledBack(Exception):
    """Ends the transaction of a dry run so that nothing is kept.

    Args:
        answer: of the dry run.
    """

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer


async def _save_answer_if_idempotent(
    transaction: Transaction, caller: Caller, digest: str | None, answer: BaseModel
) -> None:
    if digest:
        await transaction.idempotency.save_answer_and_delete_expired(
            digest,
            answer.model_dump(mode="json", by_alias=True),
            caller.now,
            caller.now + RECORD_LIFETIME,
        )


async def _save_or_remove_records(
    transaction: Transaction, storage: RecordStorage, change: Change, now: datetime
) -> None:
    if change.new is None:
        await storage.remove(change.resource, now)
        return
    try:
        await storage.save(change.new)
        for record in change.additional_records:
            await transaction.resources.save(record)
    except UniqueKeyConflict as conflict:
        raise change.new.unique_key_error(conflict.key) from None


async def _add_audit_entry_and_mark_undone(
    transaction: Transaction, caller: Caller, change: Change, envelope: Envelope, audit_id: UUID
) -> None:
    diff = envelope.diff
    entry = AuditEntry(
        id=audit_id,
        action=diff.action,
        resource=diff.resource,
        actor=build_named_actor(caller),
        via=caller.interface,
        prior_state=diff.prior_state,
        new_state=diff.new_state,
        changes=diff.changes,
        effects=diff.effects,
        approved_by=name_person(caller.approved_by) if caller.approved_by else None,
        undo_of=change.undone_entry_id,
        created_at=caller.now,
    )
    await transaction.audit.add(entry)
    if change.undone_entry_id:
        await _mark_undone_and_reapply_what_it_undid(
            transaction.audit, change.undone_entry_id, audit_id, caller.now
        )


async def _mark_undone_and_reapply_what_it_undid(
    audit: AuditLog, entry_id: UUID, undone_by: UUID, now: datetime
) -> None:
    """Marks an entry as undone. If it was an undo itself, the entry it undid is in force again.

    Raises:
        Conflict: ``already_undone``.
    """
    if not await audit.mark_undone_if_not_yet(entry_id, undone_by, now):
        raise Conflict("This change was undone before", "already_undone")
    entry = await audit.get(entry_id)
    if entry is None or entry.undo_of is None:
        return
    await audit.clear_undone(entry.undo_of)
    reapplied = await audit.get(entry.undo_of)
    if reapplied is not None and reapplied.undo_of is not None:
        await _mark_undone_and_reapply_what_it_undid(audit, reapplied.undo_of, reapplied.id, now)
