"""The response of every write operation."""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from service_core.changes.models import Action, Change, Diff
from service_core.changes.resource import Serializer, State
from service_core.kernel.operations import Reversibility
from service_core.kernel.schemas import ResponseModel

_OPTIONAL_FIELDS: Final = ("audit_id", "data", "reversibility")


class Envelope(ResponseModel):
    """The change that a write made, or would make."""

    dry_run: bool = Field(description="Whether this was a dry run, which writes nothing.")
    applied: bool = Field(description="Whether the change was made.")
    diff: Diff
    audit_id: UUID | None = Field(
        None, description="Id of the audit entry of an applied write; an undo needs it."
    )
    data: dict[str, Any] | None = Field(None, description="The resulting resource; absent on a delete.")

    reversibility: Reversibility | None = Field(
        None, description="How far the change can be taken back; absent if nothing changes."
    )

    def with_effects(self, effects: Iterable[State]) -> "Envelope":
        """Returns the envelope with further effects after those of the change."""
        further = [dict(effect) for effect in effects]
        if not further:
            return self
        diff = self.diff.model_copy(update={"effects": [*self.diff.effects, *further]})
        return self.model_copy(update={"diff": diff})

    @model_serializer(mode="wrap")
    def _omit_absent_fields(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def] # noqa: ANN202 - a return type would replace the schema
        return {
            name: value
            for name, value in handler(self).items()
            if name not in _OPTIONAL_FIELDS or value is not None
        }

    @classmethod
    def from_change(
        cls,
        change: Change,
        effects: Iterable[State],
        serialize: Serializer,
        *,
        dry_run: bool,
        audit_id: UUID | None = None,
    ) -> "Envelope":
        """Returns the envelope of a change. It counts as applied if it has an audit id."""
        _, state = change.public_states(dry_run=dry_run)
        return cls(
            dry_run=dry_run,
            applied=audit_id is not None,
            diff=change.build_diff(effects, dry_run=dry_run),
            audit_id=audit_id,
            data=dict(serialize(state)) if state is not None and change.action is not Action.DELETE else None,
        )
