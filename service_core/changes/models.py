"""A change as a value: what stood before, what stands after, and what it does elsewhere."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from pydantic import Field

from service_core.changes.resource import METADATA_FIELDS, Resource, ResourceType, State
from service_core.kernel.schemas import ResponseModel


class Action(StrEnum):
    """What a write does."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REORDER = "reorder"
    REVOKE = "revoke"
    PROPOSE = "propose"
    UNDO = "undo"


GENERATED_FIELDS: Final = frozenset({"id", "created_at", "updated_at"})
"""What an applied write gives a new record."""


class ResourceRef(ResponseModel):
    """Which resource a change is about; the id is null while a dry run only plans it."""

    type: str
    id: UUID | None
    label: str


class FieldChange(ResponseModel):
    """One field; nested values have dot paths."""

    field: str
    from_: Any = Field(alias="from")
    to: Any


class Diff(ResponseModel):
    """A change in full. Of an update the states hold the changed fields, otherwise the whole record."""

    action: Action
    resource: ResourceRef
    prior_state: dict[str, Any] | None
    new_state: dict[str, Any] | None
    changes: list[FieldChange]
    effects: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Change:
    """One planned write.

    Attributes:
        prior: the record as it stands; None when there is none.
        new: the record as it shall stand; None when it goes.
        assigned: fields only an applied write gives a value; a dry run shows them as null.
        beside: further records saved in the same step.
        undoes: the audit entry this takes back.
        named: fields the states of an update show also when they stay as they are.
    """

    action: Action
    prior: Resource | None
    new: Resource | None
    generated_fields: frozenset[str] = frozenset({"updated_at"})
    additional_records: tuple[Resource, ...] = ()
    undone_entry_id: UUID | None = None
    always_shown_fields: tuple[str, ...] = ()

    @property
    def resource(self) -> Resource:
        """The resource it is about."""
        found = self.new or self.prior
        assert found is not None, "a change has a side"
        return found

    @property
    def states(self) -> tuple[State | None, State | None]:
        """The record before and after, whole."""
        return self.prior.state if self.prior else None, self.new.state if self.new else None

    @property
    def is_empty(self) -> bool:
        """Whether everything stays as it is."""
        if self.prior is None or self.new is None:
            return False
        return not changed_fields(self.prior.state, self.new.state)

    def resulting_state(self, *, dry_run: bool) -> State | None:
        """The state that comes of it; what is not assigned yet is None in a dry run."""
        if self.new is None:
            return None
        if self.prior is not None and self.is_empty:
            return self.prior.public_state
        return self.new.public_state | (dict.fromkeys(self.generated_fields) if dry_run else {})

    def build_diff(self, kind: ResourceType, *, dry_run: bool) -> Diff:
        """The change as it is shown, kept and undone."""
        before, after = self.prior.public_state if self.prior else None, self.resulting_state(dry_run=dry_run)
        effects = () if self.is_empty else kind.effects(before, after)
        differences = list(_field_changes(before or {}, after or {}))
        both = before is not None and after is not None
        changed = changed_fields(before, after) if before is not None and after is not None else ()
        fields = tuple(dict.fromkeys((*self.always_shown_fields, *changed)))
        return Diff(
            action=self.action,
            resource=ResourceRef(
                type=self.resource.resource_type,
                id=(after or before or {})["id"],
                label=self.resource.name,
            ),
            prior_state=_select_fields(before, fields) if both else _copy_state(before),
            new_state=_select_fields(after, fields) if both else _copy_state(after),
            changes=sorted(differences, key=lambda change: change.field),
            effects=[dict(effect) for effect in effects],
        )


def changed_fields(before: State, after: State) -> tuple[str, ...]:
    """Fields of the record that differ, in the order they stand in."""
    return tuple(name for name in after if name not in METADATA_FIELDS and before.get(name) != after[name])


def _select_fields(state: State | None, fields: tuple[str, ...]) -> dict[str, Any] | None:
    return None if state is None else {name: state[name] for name in fields}


def _copy_state(state: State | None) -> dict[str, Any] | None:
    return None if state is None else dict(state)


def _field_changes(before: State, after: State, path: str = "") -> Iterator[FieldChange]:
    for name in dict.fromkeys([*before, *after]):
        if not path and name in METADATA_FIELDS:
            continue
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if _is_nested_object(old) and _is_nested_object(new) and (old or new):
            yield from _field_changes(old or {}, new or {}, f"{path}{name}.")
        else:
            yield FieldChange.model_validate({"field": path + name, "from": old, "to": new})


def _is_nested_object(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and bool(value))
