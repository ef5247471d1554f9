"""Audit entries: applied changes with the state they replaced."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from pydantic import computed_field

from service_core.access.models import RequestInterface
from service_core.changes.actor import NamedActor
from service_core.changes.models import Action, Diff, FieldChange, ResourceRef
from service_core.changes.resource import MillisecondDatetime
from service_core.kernel.schemas import ResponseModel

UNDOABLE_ACTIONS: Final = frozenset({Action.UPDATE, Action.REORDER, Action.DELETE})

EVENT_HISTORY_TYPE: Final = "event_history"
"""Resource type of the entry that stored events were enriched again."""

IMPORT_TYPE: Final = "import"
"""Resource type of the entry that an import was removed."""

NOT_UNDOABLE_TYPES: Final = frozenset(
    {"container_script_proposal", "link_domain", EVENT_HISTORY_TYPE, IMPORT_TYPE}
)
"""Resource types whose changes are decisions, proofs, recomputations or removals and cannot be undone."""

PUBLIC_TYPES: Final = frozenset({"share_link"})
"""Resource types whose content may have been seen by the public, so that a creation is not undone."""


class AuditEntry(ResponseModel):
    """An applied change. ``approved_by`` is the person who approved it, where one had to."""

    id: UUID
    action: Action
    resource: ResourceRef
    actor: NamedActor
    via: RequestInterface
    prior_state: dict[str, Any] | None
    new_state: dict[str, Any] | None
    changes: list[FieldChange]
    effects: list[dict[str, Any]]
    approved_by: NamedActor | None = None
    undo_of: UUID | None
    undone_by: UUID | None = None
    undone_at: MillisecondDatetime | None = None
    created_at: MillisecondDatetime

    @computed_field  # type: ignore[prop-decorator]
    @property
    def undoable(self) -> bool:
        """Whether an undo can be requested: an update, reorder or delete that was not undone yet."""
        return self.has_reversible_action_and_type and self.undone_by is None

    @property
    def has_reversible_action_and_type(self) -> bool:
        """Whether changes of this kind can be undone."""
        return self.action in UNDOABLE_ACTIONS and self.resource.type not in NOT_UNDOABLE_TYPES

    @property
    def diff(self) -> Diff:
        """The change that was applied."""
        return Diff.model_construct(**{name: getattr(self, name) for name in Diff.model_fields})


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which audit entries are requested; None matches all.

    Attributes:
        since, until: bounds of ``created_at``, both inclusive.
        actor_type: kind of the actor: user, key or system.
        client_id: the program that a person authorized over OAuth.
        via: the interface of the request.
    """

    until: datetime
    since: datetime | None = None
    resource_type: str | None = None
    resource_id: UUID | None = None
    actor_id: UUID | None = None
    actor_type: str | None = None
    client_id: str | None = None
    via: RequestInterface | None = None
