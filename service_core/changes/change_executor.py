"""Executes changes: plan, dry run or apply, audit entry, idempotency record, response."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.models import Caller, RequestInterface
from service_core.changes.actor import build_named_actor
from service_core.changes.audit_log import AuditEntry
from service_core.changes.envelope import Envelope
from service_core.changes.idempotency import (
    RECORD_LIFETIME,
    InFlightRequests,
    idempotency_digest,
    request_in_progress_error,
)
from service_core.changes.models import Change
from service_core.changes.ports import RequestInProgress, Transaction, Transactions, UniqueKeyConflict
from service_core.changes.resource import RecordStorage, ResourceType, State
from service_core.kernel.errors import Conflict
from service_core.kernel.ids import new_id
from service_core.kernel.operations import HandlerResponse

ChangePlanner = Callable[[Transaction], Awaitable[Change]]
"""Reads what it needs and returns the change; raises an `ApiError` if a rule forbids it. It writes nothing."""

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

    async def preview_or_apply_change(
        self, caller: Caller, planner: ChangePlanner, *, dry_run: bool | None
    ) -> HandlerResponse[Envelope]:
        """Plans a change and applies it, or shows it in a dry run.

        Args:
            caller: the workspace and the actor of the change.
            planner: returns the change.
            dry_run: as requested; None means False over HTTP and True over MCP.

        Raises:
            ApiError: raised by the planner; a unique key conflict; ``idempotency_in_progress``.
        """
        if is_dry_run(caller, dry_run):
            async with self.transactions.read(caller.workspace.id) as transaction:
                return HandlerResponse(await self._preview_change(caller, transaction, planner), 200)
        digest = idempotency_digest(caller)
        with self._in_flight.mark_running_or_conflict(digest):
            try:
                return await self._replay_or_apply_change(caller, planner, digest)
            except RequestInProgress:
                raise request_in_progress_error() from None

    async def _preview_change(
        self, caller: Caller, transaction: Transaction, planner: ChangePlanner
    ) -> Envelope:
        change = await self._plan_permitted_change(caller, transaction, planner)
        if change.new is not None:
            current_keys = change.prior.unique_keys() if change.prior else ()
            for key in change.new.unique_keys():
                if key not in current_keys and await transaction.resources.is_key_in_use(key):
                    raise change.new.unique_key_error(key)
        return await self._build_envelope(transaction, caller, change, dry_run=True)

    async def _replay_or_apply_change(
        self, caller: Caller, planner: ChangePlanner, digest: str | None
    ) -> HandlerResponse[Envelope]:
        async with self.transactions.write(caller.workspace.id, digest) as transaction:
            stored_answer = (
                await transaction.idempotency.find_unexpired_answer(digest, caller.now) if digest else None
            )
            if stored_answer is not None:
                return HandlerResponse(Envelope.model_validate(stored_answer), 200, REPLAY_HEADERS)
            change = await self._plan_permitted_change(caller, transaction, planner)
            if change.is_empty:
                return HandlerResponse(
                    await self._build_envelope(transaction, caller, change, dry_run=False), 200
                )
            resource_type, audit_id = self._type_of(change), new_id()
            envelope = await self._build_envelope(
                transaction, caller, change, dry_run=False, audit_id=audit_id
            )
            await _save_or_remove_records(transaction, resource_type.storage(transaction), change, caller.now)
            if resource_type.triggers:
                await transaction.triggers.replace_trigger_event_names(
                    await resource_type.triggers(transaction.resources)
                )
            await _add_audit_entry_and_mark_undone(transaction, caller, change, envelope, audit_id)
            if digest:
                answer = envelope.model_dump(mode="json", by_alias=True)
                await transaction.idempotency.save_answer_and_delete_expired(
                    digest, answer, caller.now, caller.now + RECORD_LIFETIME
                )
            if resource_type.on_change:
                await resource_type.on_change(transaction.resources, *change.states)
        return HandlerResponse(envelope, 200)

    async def _plan_permitted_change(
        self, caller: Caller, transaction: Transaction, planner: ChangePlanner
    ) -> Change:
        """Returns the planned change; raises `Forbidden` if its type does not permit the caller to make it."""
        change = await planner(transaction)
        if not change.is_empty:
            self._type_of(change).check_permitted(caller, *change.states)
        return change

    async def _build_envelope(
        self,
        transaction: Transaction,
        caller: Caller,
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
            effects = [
                *await resource_type.effects(records, prior, new),
                *await resource_type.warnings(caller, new),
            ]
        return Envelope.from_change(
            change,
            effects,
            await resource_type.serializer(records, [change.resource]),
            dry_run=dry_run,
            audit_id=audit_id,
        )

    def _type_of(self, change: Change) -> ResourceType:
        return self.resource_types[change.resource.resource_type]


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
        undo_of=change.undone_entry_id,
        created_at=caller.now,
    )
    await transaction.audit.add(entry)
    if change.undone_entry_id and not await transaction.audit.mark_undone_if_not_yet(
        change.undone_entry_id, audit_id, caller.now
    ):
        raise Conflict("This change was undone before", "already_undone")
