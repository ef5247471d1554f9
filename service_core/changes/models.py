"""A change as a value: the states before and after, and effects elsewhere."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from pydantic import Field

from service_core.changes.resource import METADATA_FIELDS, Resource, State
from service_core.kernel.schemas import ResponseModel


class Action(StrEnum):
    """Kind of a change."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REORDER = "reorder"
    REVOKE = "revoke"
    PROPOSE = "propose"
    UNDO = "undo"


GENERATED_FIELDS: Final = frozenset({"id", "created_at", "updated_at"})
"""Fields that are set when a new record is saved."""


class ResourceRef(ResponseModel):
    """The resource of a change. The id is null in the dry run of a creation."""

    type: str
    id: UUID | None
    label: str


class FieldChange(ResponseModel):
    """A changed field; nested fields have dot paths."""

    field: str
    from_: Any = Field(alias="from")
    to: Any


class Diff(ResponseModel):
    """A complete change. For an update the states contain the changed fields, otherwise the whole resource."""

    action: Action
    resource: ResourceRef
    prior_state: dict[str, Any] | None
    new_state: dict[str, Any] | None
    changes: list[FieldChange]
    effects: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Change:
    """A planned write.

    Attributes:
        prior: the current record; None if there is none.
        new: the record to save; None for a deletion.
        generated_fields: fields that are set when the change is applied; a dry run shows them as null.
        additional_records: further records saved in the same transaction.
        undone_entry_id: id of the audit entry this change undoes.
        always_shown_fields: fields that the states of an update contain even if unchanged.
        fields_counted_from_now: timestamps that the request gives as a span from the time of the change.
    """

    action: Action
    prior: Resource | None
    new: Resource | None
    generated_fields: frozenset[str] = frozenset({"updated_at"})
    additional_records: tuple[Resource, ...] = ()
    undone_entry_id: UUID | None = None
    always_shown_fields: tuple[str, ...] = ()
    fields_counted_from_now: frozenset[str] = frozenset()

    @property
    def resource(self) -> Resource:
        """The changed record: the new one, or the prior one for a deletion."""
        record = self.new or self.prior
        assert record is not None, "a change has a side"
        return record

    @property
    def states(self) -> tuple[State | None, State | None]:
        """The complete states before and after."""
        return self.prior.state if self.prior else None, self.new.state if self.new else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        if self.prior is None or self.new is None:
            return False
        return not changed_fields(self.prior.state, self.new.state)

    def new_state_without_hidden_fields(self, *, dry_run: bool) -> State | None:
        """Returns the state after the change; generated fields are None in a dry run."""
        if self.new is None:
            return None
        if self.prior is not None and self.is_empty:
            return self.prior.public_state
        return self.new.public_state | (dict.fromkeys(self.generated_fields) if dry_run else {})

    def public_states(self, *, dry_run: bool) -> tuple[State | None, State | None]:
        """Returns the record before and after, without its hidden fields."""
        return self.prior.public_state if self.prior else None, self.new_state_without_hidden_fields(
            dry_run=dry_run
        )

    def build_diff(self, effects: Iterable[State], *, dry_run: bool) -> Diff:
        """Returns the change as it is shown, stored and undone."""
        before, after = self.public_states(dry_run=dry_run)
        field_changes = list(_nested_field_changes(before or {}, after or {}))
        is_update = before is not None and after is not None
        changed_names = changed_fields(before, after) if before is not None and after is not None else ()
        fields = tuple(dict.fromkeys((*self.always_shown_fields, *changed_names)))
        return Diff(
            action=self.action,
            resource=ResourceRef(
                type=self.resource.resource_type,
                id=(after or before or {})["id"],
                label=self.resource.name,
            ),
            prior_state=_select_fields(before, fields) if is_update else _copy_state(before),
            new_state=_select_fields(after, fields) if is_update else _copy_state(after),
            changes=sorted(field_changes, key=lambda change: change.field),
            effects=[dict(effect) for effect in effects],
        )


def changed_fields(before: State, after: State) -> tuple[str, ...]:
    """Returns the names of the fields that differ, in their order."""
    return tuple(name for name in after if name not in METADATA_FIELDS and before.get(name) != after[name])


def _select_fields(state: State | None, fields: tuple[str, ...]) -> dict[str, Any] | None:
    return None if state is None else {name: state[name] for name in fields}


def _copy_state(state: State | None) -> dict[str, Any] | None:
    return None if state is None else dict(state)


def _nested_field_changes(before: State, after: State, path: str = "") -> Iterator[FieldChange]:
    for name in dict.fromkeys([*before, *after]):
        if not path and name in METADATA_FIELDS:
            continue
        old_value, new_value = before.get(name), after.get(name)
        if old_value == new_value:
            continue
        if _is_nested_object(old_value) and _is_nested_object(new_value) and (old_value or new_value):
            yield from _nested_field_changes(old_value or {}, new_value or {}, f"{path}{name}.")
        else:
            yield FieldChange.model_validate({"field": path + name, "from": old_value, "to": new_value})


def _is_nested_object(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and bool(value))
