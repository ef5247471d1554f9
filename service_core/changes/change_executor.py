"""The write pipeline: plan, show or apply, record, answer; the only way anything is changed that anybody is told of."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
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
from service_core.changes.resource import ResourceType
from service_core.kernel.errors import Conflict
from service_core.kernel.ids import new_id
from service_core.kernel.operations import HandlerResponse

ChangePlanner = Callable[[Transaction], Awaitable[Change]]
"""Reads what it needs and returns the change; refuses what breaks a rule. It writes nothing itself."""

REPLAY_HEADERS: Final[Mapping[str, str]] = {"Idempotent-Replay": "true"}


class ChangeExecutor:
    """Performs changes.

    Args:
        units: the transactions of the workspace store.
        kinds: every type of resource that can be written.
    """

    def __init__(self, units: Transactions, kinds: Iterable[ResourceType]) -> None:
        self.transactions: Final = units
        self.resource_types: Final[Mapping[str, ResourceType]] = {
            kind.model.resource_type: kind for kind in kinds
        }
        self._in_flight = InFlightRequests()

    async def execute(
        self, caller: Caller, plan: ChangePlanner, *, dry_run: bool | None
    ) -> HandlerResponse[Envelope]:
        """Show a change, or make it once.

        Args:
            who: whose workspace it is, and who is written down.
            plan: gives the change.
            dry_run: what the request says; None means no over HTTP and yes over MCP.

        Raises:
            Refusal: of the plan; a unique key that is taken; ``idempotency_in_progress``.
        """
        if caller.interface is RequestInterface.MCP if dry_run is None else dry_run:
            async with self.transactions.read(caller.workspace.id) as unit:
                return HandlerResponse(await self._preview(unit, plan), 200)
        ticket = idempotency_digest(caller)
        with self._in_flight.track(ticket):
            try:
                return await self._apply(caller, plan, ticket)
            except RequestInProgress:
                raise request_in_progress_error() from None

    async def _preview(self, unit: Transaction, plan: ChangePlanner) -> Envelope:
        change = await plan(unit)
        if change.new is not None:
            held = change.prior.unique_keys() if change.prior else ()
            for key in change.new.unique_keys():
                if key not in held and await unit.resources.is_key_in_use(key):
                    raise change.new.unique_key_error(key)
        return Envelope.from_change(change, await self._resolve_type(unit, change), dry_run=True)

    async def _apply(
        self, caller: Caller, plan: ChangePlanner, ticket: str | None
    ) -> HandlerResponse[Envelope]:
        async with self.transactions.write(caller.workspace.id, ticket) as unit:
            kept = await unit.idempotency.find_answer(ticket, caller.now) if ticket else None
            if kept is not None:
                return HandlerResponse(Envelope.model_validate(kept), 200, REPLAY_HEADERS)
            change = await plan(unit)
            kind = await self._resolve_type(unit, change)
            if change.is_empty:
                return HandlerResponse(Envelope.from_change(change, kind, dry_run=False), 200)
            audit_id = new_id()
            envelope = Envelope.from_change(change, kind, dry_run=False, audit_id=audit_id)
            await _save_records(unit, change, caller.now)
            if kind.triggers:
                await unit.triggers.set_triggers(await kind.triggers(unit.resources))
            await _add_audit_entry(unit, caller, change, envelope, audit_id)
            if ticket:
                answer = envelope.model_dump(mode="json", by_alias=True)
                await unit.idempotency.save_answer(ticket, answer, caller.now, caller.now + RECORD_LIFETIME)
            if kind.on_change:
                await kind.on_change(*change.states)
        return HandlerResponse(envelope, 200)

    async def _resolve_type(self, unit: Transaction, change: Change) -> ResourceType:
        subject = change.resource
        return await self.resource_types[subject.resource_type].resolve(unit.resources, subject)


async def _save_records(unit: Transaction, change: Change, now: datetime) -> None:
    if change.new is None:
        await unit.resources.remove(change.resource, now)
        return
    try:
        for record in (change.new, *change.additional_records):
            await unit.resources.save(record)
    except UniqueKeyConflict as taken:
        raise change.new.unique_key_error(taken.key) from None


async def _add_audit_entry(
    unit: Transaction, caller: Caller, change: Change, envelope: Envelope, audit_id: UUID
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
    await unit.audit.add(entry)
    if change.undone_entry_id and not await unit.audit.mark_undone(
        change.undone_entry_id, audit_id, caller.now
    ):
        raise Conflict("This change was undone before", "already_undone")
