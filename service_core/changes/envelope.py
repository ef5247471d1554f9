"""The answer to every mutation (specification, Write result envelope)."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from service_core.changes.model import Action, Change, Diff
from service_core.changes.resource import Kind
from service_core.kernel.params import Answer

_ABSENT: Final = ("audit_id", "data")


class Envelope(Answer):
    """What a write does, or would do."""

    dry_run: bool = Field(description="Whether nothing was written because nothing was meant to be.")
    applied: bool = Field(description="Whether the change was made.")
    diff: Diff
    audit_id: UUID | None = Field(None, description="On an applied write: the handle for its undo.")
    data: dict[str, Any] | None = Field(None, description="The resulting resource; absent on a delete.")

    @model_serializer(mode="wrap")
    def _present(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def] # noqa: ANN202 - a return type would replace the schema
        return {
            name: value for name, value in handler(self).items() if name not in _ABSENT or value is not None
        }

    @classmethod
    def of(cls, change: Change, kind: Kind, *, dry_run: bool, audit_id: UUID | None = None) -> "Envelope":
        """The envelope of a change, applied when there is an audit entry."""
        state = change.after(dry_run=dry_run)
        return cls(
            dry_run=dry_run,
            applied=audit_id is not None,
            diff=change.diff(kind, dry_run=dry_run),
            audit_id=audit_id,
            data=_data(change, kind, state),
        )


def _data(change: Change, kind: Kind, state: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if state is None or change.action is Action.DELETE:
        return None
    return dict(kind.shown(state))
