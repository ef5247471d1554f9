"""Takes back everything that one actor changed, newest first, and leaves alone what others changed since."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from service_core.access.models import Caller
from service_core.access.scopes import require_scope
from service_core.changes.actor import NamedActor
from service_core.changes.audit_log import AuditEntry, AuditFilter
from service_core.changes.audit_visibility import visible_entries
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.models import Action, Change, ResourceRef
from service_core.changes.outside_effects import OutsideEffect, list_outside_effects
from service_core.changes.ports import Transaction
from service_core.changes.resource import Resource, ResourceType
from service_core.changes.reversal import list_dependents, plan_inverse, touched_fields
from service_core.kernel.errors import Conflict, Forbidden, Unprocessable
from service_core.kernel.schemas import ResponseModel

MAX_ROLLBACK_ENTRIES: Final = 1_000
"""Most audit entries one rollback takes back."""

_MAX_LATER_ENTRIES: Final = 1_000
_NO_LATEST_TIME: Final = datetime.max.replace(tzinfo=UTC)

ActorPredicate = Callable[[NamedActor], bool]


class LeftAlone(ResponseModel):
    """A change that a rollback does not take back, and why."""

    audit_id: UUID
    action: Action
    resource: ResourceRef
    reason: str
    changed_by: list[NamedActor]


@dataclass
class RollbackResult:
    """What a rollback did.

    Attributes:
        changes: those made, in their order.
        envelopes: the same as answered.
        left_alone: entries that stay in force.
        outside_effects: of all entries of the actor.
    """

    changes: list[Change] = field(default_factory=list)
    envelopes: list[Envelope] = field(default_factory=list)
    left_alone: list[LeftAlone] = field(default_factory=list)
    outside_effects: list[OutsideEffect] = field(default_factory=list)


class Rollback:
    """Takes back the changes of one actor within a transaction.

    Args:
        executor: makes the changes.
        caller: who requests the rollback.
        is_actor: whether a change was made by the actor.
        transaction: of the rollback.
    """

    def __init__(
        self,
        executor: ChangeExecutor,
        caller: Caller,
        is_actor: ActorPredicate,
        transaction: Transaction,
    ) -> None:
        self._executor, self._caller = executor, caller
        self._is_actor, self._transaction = is_actor, transaction
        self._types: Mapping[str, ResourceType] = executor.resource_types
        self.result: Final = RollbackResult()

    async def take_back_newest_first(self, audit_filter: AuditFilter) -> RollbackResult:
        """Takes back the entries that match; entries of records that the caller cannot see are left out.

        Raises:
            Forbidden: ``insufficient_scope``, an entry needs a scope that the caller lacks.
            Unprocessable: ``too_many_changes``.
        """
        audit = self._transaction.audit
        entries = await audit.list_entries(audit_filter, MAX_ROLLBACK_ENTRIES + 1, 0)
        if len(entries) > MAX_ROLLBACK_ENTRIES:
            raise Unprocessable(
                f"The actor made more than {MAX_ROLLBACK_ENTRIES} changes in this time",
                "too_many_changes",
                hint="Set until, and roll back in several steps.",
            )
        visible = await visible_entries(entries, self._caller, self._types, self._transaction)
        by_id = {entry.id: entry for entry in visible}
        cancelled = {
            undo_id
            for undo_id in _undos_that_cancel_out(visible)
            if not await self._have_others_changed_between(by_id[undo_id], by_id)
        }
        transient = await self._created_and_deleted_by_actor_alone(visible)
        for entry in visible:
            self._list_effects(entry)
            if entry.id not in cancelled and entry.resource.id not in transient:
                await self._take_back_if_in_force(entry.id)
        return self.result

    async def _created_and_deleted_by_actor_alone(self, newest_first: Sequence[AuditEntry]) -> set[UUID]:
        """Returns the ids of records that the actor created and deleted again, and nobody else touched."""
        newest: dict[UUID, AuditEntry] = {}
        oldest: dict[UUID, AuditEntry] = {}
        for entry in newest_first:
            if entry.resource.id is not None:
                newest.setdefault(entry.resource.id, entry)
                oldest[entry.resource.id] = entry
        candidates = [
            id_
            for id_, entry in newest.items()
            if entry.new_state is None and oldest[id_].action is Action.CREATE
        ]
        found = set()
        for id_ in candidates:
            all_entries = AuditFilter(until=_NO_LATEST_TIME, resource_id=id_)
            entries = await self._transaction.audit.list_entries(all_entries, _MAX_LATER_ENTRIES, 0)
            if all(self._is_actor(entry.actor) for entry in entries) and entries[0].id == newest[id_].id:
                found.add(id_)
        return found

    async def _take_back_if_in_force(self, entry_id: UUID) -> None:
        entry = await self._transaction.audit.get(entry_id)
        if entry is None or entry.undone_by is not None:
            return
        resource_type = self._types.get(entry.resource.type)
        if resource_type is None:
            self._leave_alone(entry, "not_undoable")
            return
        require_scope(self._caller, resource_type.scope)
        others = await self._others_that_changed_since(entry)
        if others:
            self._leave_alone(entry, "changed_since", others)
            return
        try:
            await self._apply_inverse_with_children(entry, resource_type)
        except Forbidden as refusal:
            self._leave_alone(entry, refusal.code or "not_undoable")
        except Conflict as conflict:
            reason = "changed_since" if conflict.code == "resource_changed" else conflict.code
            self._leave_alone(entry, reason or "not_undoable")

    async def _apply_inverse_with_children(self, entry: AuditEntry, resource_type: ResourceType) -> None:
        change = await plan_inverse(self._caller, resource_type, entry, self._transaction)
        # A conflict must show before anything is written: some stores cannot go on in a failed transaction.
        await self._executor.preview_in_transaction(self._caller, self._transaction, change)
        if change.new is None and change.prior is not None:
            listed = await self._list_descendants_parents_first(change.prior)
            # What was there before a restoration stayed when the record was deleted first, and stays now.
            is_restoration = entry.undo_of is not None
            descendants = [
                each for each in listed if not is_restoration or each.created_at >= entry.created_at
            ]
            users = await self._others_that_use(descendants, change.prior)
            if users is not None:
                self._leave_alone(entry, "in_use", users)
                return
            for descendant in reversed(descendants):
                await self._apply(self._removal_of_descendant(descendant))
        await self._apply(change)

    async def _apply(self, change: Change) -> None:
        envelope = await self._executor.apply_in_transaction(self._caller, self._transaction, change)
        self.result.changes.append(change)
        self.result.envelopes.append(envelope)

    async def _list_descendants_parents_first(self, record: Resource) -> list[Resource]:
        """Returns the records that mention a record, those that mention these, and so on."""
        listed = [record]
        for parent in listed:  # grows by the dependents of each
            dependents = await list_dependents(
                parent, self._types, self._transaction.resources, self._caller.now
            )
            known = {each.id for each in listed}
            listed += [each for each in dependents if each.id not in known]
        return listed[1:]

    def _removal_of_descendant(self, record: Resource) -> Change:
        retire = self._types[record.resource_type].retire
        if retire is None:
            return Change(Action.DELETE, record, None)
        return Change(Action.REVOKE, record, retire(record, self._caller.now))

    async def _others_that_use(
        self, dependents: Sequence[Resource], parent: Resource
    ) -> list[NamedActor] | None:
        """Returns who else keeps a record in use; None if the actor alone built on it, after its creation."""
        actors: dict[UUID, NamedActor] = {}
        has_foreign = False
        for record in dependents:
            all_entries = AuditFilter(until=_NO_LATEST_TIME, resource_id=record.id)
            entries = await self._transaction.audit.list_entries(all_entries, _MAX_LATER_ENTRIES, 0)
            others = [
                entry.actor
                for entry in entries
                if not self._is_actor(entry.actor) and entry.undone_by is None and entry.undo_of is None
            ]
            actors |= {actor.id: actor for actor in others}
            is_own = self._is_actor(NamedActor(**record.created_by.model_dump(), name=""))
            has_foreign |= bool(others) or not is_own or record.created_at < parent.created_at
        return list(actors.values()) if has_foreign else None

    async def _others_that_changed_since(self, entry: AuditEntry) -> list[NamedActor]:
        """Returns who else changed a field of the entry after it; an undone change and its undo do not count."""
        later_filter = AuditFilter(
            until=_NO_LATEST_TIME, since=entry.created_at, resource_id=entry.resource.id
        )
        found = await self._transaction.audit.list_entries(later_filter, _MAX_LATER_ENTRIES, 0)
        later = [other for other in found if (other.created_at, other.id) > (entry.created_at, entry.id)]
        later_ids = {other.id for other in later}
        others = {
            other.actor.id: other.actor
            for other in later
            if not self._is_actor(other.actor)
            and other.undone_by is None
            and other.undo_of not in later_ids
            and other.undo_of != entry.id
            and _share_fields(entry, other)
        }
        return list(others.values())

    async def _have_others_changed_between(
        self, undo: AuditEntry, entries_by_id: Mapping[UUID, AuditEntry]
    ) -> bool:
        """Returns whether others changed a field between a change of the actor and its undo, which reset that, too."""
        undone = entries_by_id[undo.undo_of] if undo.undo_of else undo
        between = AuditFilter(until=undo.created_at, since=undone.created_at, resource_id=undone.resource.id)
        found = await self._transaction.audit.list_entries(between, _MAX_LATER_ENTRIES, 0)
        return any(
            not self._is_actor(other.actor)
            and (undone.created_at, undone.id) < (other.created_at, other.id) < (undo.created_at, undo.id)
            and _share_fields(undone, other)
            for other in found
        )

    def _leave_alone(self, entry: AuditEntry, reason: str, changed_by: Sequence[NamedActor] = ()) -> None:
        self.result.left_alone.append(
            LeftAlone(
                audit_id=entry.id,
                action=entry.action,
                resource=entry.resource,
                reason=reason,
                changed_by=list(changed_by),
            )
        )

    def _list_effects(self, entry: AuditEntry) -> None:
        resource_type = self._types.get(entry.resource.type)
        if resource_type is None:
            return
        self.result.outside_effects += list_outside_effects(entry.diff, resource_type, entry.id)


def _undos_that_cancel_out(newest_first: Sequence[AuditEntry]) -> set[UUID]:
    """Returns the ids of undos that stay, because the actor made the undone change too.

    An undo does not stay if, between the two, the actor restored the record that another had deleted: the record is
    deleted again only with the values it had then.
    """
    positions = {entry.id: position for position, entry in enumerate(newest_first)}
    restorations = [
        (position, entry.resource.id)
        for position, entry in enumerate(newest_first)
        if entry.undo_of is not None and entry.undo_of not in positions and entry.prior_state is None
    ]
    return {
        undo.id
        for undo in newest_first
        if undo.undo_of in positions
        and not any(
            id_ == undo.resource.id and positions[undo.id] < position < positions[undo.undo_of]
            for position, id_ in restorations
        )
    }


def _share_fields(entry: AuditEntry, other: AuditEntry) -> bool:
    fields, other_fields = touched_fields(entry), touched_fields(other)
    return fields is None or other_fields is None or bool(fields & other_fields)
