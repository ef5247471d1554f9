"""An identity link that was taken back: what one event says of ids counts no more."""

from typing import ClassVar, Final

from service_core.changes.resource import Kind, Moment, Resource
from service_core.kernel.errors import Conflict, Refusal
from service_core.kernel.ids import digest
from service_core.kernel.operations import Scope


class RevokedLink(Resource):
    """The links of one event, taken back for good; the event itself stays as it is.

    ``name`` is the id of the event. Who took them back is ``created_by``, when is ``created_at``. A store of events
    forgets nothing of it, and one that takes its place is told of all.
    """

    resource_type: ClassVar[str] = "identity_link"

    event_name: str
    happened_at: Moment

    def unique_keys(self) -> tuple[str, ...]:
        """The event, in its workspace; an id may be longer than a key."""
        return (f"identity:{self.workspace_id.hex}/{digest(self.name)}",)

    def refusal(self, key: str) -> Refusal:  # noqa: ARG002 - there is one
        """Somebody else was as quick."""
        return Conflict("Its links were taken back meanwhile")


REVOKED_KIND: Final = Kind(RevokedLink, Scope.WRITE_RULES)
