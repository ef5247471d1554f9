"""An entry of the audit log: an applied write, with the state it replaced (contract 5.4)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from pydantic import computed_field

from service_core.access.models import RequestInterface
from service_core.changes.actor import NamedActor
from service_core.changes.models import Action, FieldChange, ResourceRef
from service_core.changes.resource import MillisecondDatetime
from service_core.kernel.schemas import ResponseModel

UNDOABLE_ACTIONS: Final = frozenset({Action.UPDATE, Action.REORDER, Action.DELETE})

NOT_UNDOABLE_TYPES: Final = frozenset({"container_script_proposal", "link_domain"})
"""Resource types whose changes are decisions or proofs: nothing takes them back."""

PUBLIC_TYPES: Final = frozenset({"share_link"})
"""Resource types of which nothing is taken back: who has seen a page has seen it."""


class AuditEntry(ResponseModel):
    """One applied write."""

    id: UUID
    action: Action
    resource: ResourceRef
    actor: NamedActor
    via: RequestInterface
    prior_state: dict[str, Any] | None
    new_state: dict[str, Any] | None
    changes: list[FieldChange]
    effects: list[dict[str, Any]]
    undo_of: UUID | None
    undone_by: UUID | None = None
    undone_at: MillisecondDatetime | None = None
    created_at: MillisecondDatetime

    @computed_field  # type: ignore[prop-decorator]
    @property
    def undoable(self) -> bool:
        """Whether an undo may be tried: an update, reorder or delete that was not taken back yet."""
        return self.is_reversible and self.undone_by is None

    @property
    def is_reversible(self) -> bool:
        """Whether it is of the kind that can be taken back."""
        return self.action in UNDOABLE_ACTIONS and self.resource.type not in NOT_UNDOABLE_TYPES


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries are asked for; None asks for all.

    Attributes:
        since, until: bounds of ``created_at``, both inclusive.
    """

    until: datetime
    since: datetime | None = None
    resource_type: str | None = None
    resource_id: UUID | None = None
    actor_id: UUID | None = None
