"""The write pipeline: plan, show or apply, record, answer; the only way anything is changed that anybody is told of."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from service_core.access.model import Caller, Via
from service_core.changes.actor import named_actor_of
from service_core.changes.entry import AuditEntry
from service_core.changes.envelope import Envelope
from service_core.changes.model import Change
from service_core.changes.once import KEPT, Underway, in_progress, ticket_of
from service_core.changes.ports import Busy, Taken, Transaction, Units
from service_core.changes.resource import Kind
from service_core.kernel.errors import Conflict
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Reply

Plan = Callable[[Transaction], Awaitable[Change]]
"""Reads what it needs and returns the change; refuses what breaks a rule. It writes nothing itself."""

REPLAYED: Final[Mapping[str, str]] = {"Idempotent-Replay": "true"}


class Writes:
    """Performs changes.

    Args:
        units: the transactions of the workspace store.
        kinds: every type of resource that can be written.
    """

    def __init__(self, units: Units, kinds: Iterable[Kind]) -> None:
        self.units: Final = units
        self.kinds: Final[Mapping[str, Kind]] = {kind.model.resource_type: kind for kind in kinds}
        self._underway = Underway()

    async def run(self, who: Caller, plan: Plan, *, dry_run: bool | None) -> Reply[Envelope]:
        """Show a change, or make it once.

        Args:
            who: whose workspace it is, and who is written down.
            plan: gives the change.
            dry_run: what the request says; None means no over HTTP and yes over MCP.

        Raises:
            Refusal: of the plan; a unique key that is taken; ``idempotency_in_progress``.
        """
        if who.via is Via.MCP if dry_run is None else dry_run:
            async with self.units.look(who.workspace.id) as unit:
                return Reply(await self._shown(unit, plan), 200)
        ticket = ticket_of(who)
        with self._underway.hold(ticket):
            try:
                return await self._performed(who, plan, ticket)
            except Busy:
                raise in_progress() from None

    async def _shown(self, unit: Transaction, plan: Plan) -> Envelope:
        change = await plan(unit)
        if change.new is not None:
            held = change.prior.unique_keys() if change.prior else ()
            for key in change.new.unique_keys():
                if key not in held and await unit.resources.is_taken(key):
                    raise change.new.refusal(key)
        return Envelope.of(change, await self._kind(unit, change), dry_run=True)

    async def _performed(self, who: Caller, plan: Plan, ticket: str | None) -> Reply[Envelope]:
        async with self.units.begin(who.workspace.id, ticket) as unit:
            kept = await unit.replays.find(ticket, who.now) if ticket else None
            if kept is not None:
                return Reply(Envelope.model_validate(kept), 200, REPLAYED)
            change = await plan(unit)
            kind = await self._kind(unit, change)
            if change.is_empty:
                return Reply(Envelope.of(change, kind, dry_run=False), 200)
            audit_id = new_id()
            envelope = Envelope.of(change, kind, dry_run=False, audit_id=audit_id)
            await _save(unit, change, who.now)
            if kind.triggers:
                await unit.owner.set_triggers(await kind.triggers(unit.resources))
            await _record(unit, who, change, envelope, audit_id)
            if ticket:
                answer = envelope.model_dump(mode="json", by_alias=True)
                await unit.replays.keep(ticket, answer, who.now, who.now + KEPT)
            if kind.announced:
                await kind.announced(*change.states)
        return Reply(envelope, 200)

    async def _kind(self, unit: Transaction, change: Change) -> Kind:
        subject = change.subject
        return await self.kinds[subject.resource_type].knowing(unit.resources, subject)


async def _save(unit: Transaction, change: Change, now: datetime) -> None:
    if change.new is None:
        await unit.resources.remove(change.subject, now)
        return
    try:
        for record in (change.new, *change.beside):
            await unit.resources.save(record)
    except Taken as taken:
        raise change.new.refusal(taken.key) from None


async def _record(unit: Transaction, who: Caller, change: Change, envelope: Envelope, audit_id: UUID) -> None:
    diff = envelope.diff
    entry = AuditEntry(
        id=audit_id,
        action=diff.action,
        resource=diff.resource,
        actor=named_actor_of(who),
        via=who.via,
        prior_state=diff.prior_state,
        new_state=diff.new_state,
        changes=diff.changes,
        effects=diff.effects,
        undo_of=change.undoes,
        created_at=who.now,
    )
    await unit.audit.add(entry)
    if change.undoes and not await unit.audit.mark_undone(change.undoes, audit_id, who.now):
        raise Conflict("This change was undone before", "already_undone")
