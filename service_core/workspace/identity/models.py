"""An identity link that was taken back: what one event says of ids counts no more."""

from typing import ClassVar, Final

from service_core.changes.resource import MillisecondDatetime, Resource, ResourceType
from service_core.kernel.errors import ApiError, Conflict
from service_core.kernel.ids import sha256_hex
from service_core.kernel.operations import Scope


class RevokedIdentityLink(Resource):
    """The links of one event, taken back for good; the event itself stays as it is.

    ``name`` is the id of the event. Who took them back is ``created_by``, when is ``created_at``. A store of events
    forgets nothing of it, and one that takes its place is told of all.
    """

    resource_type: ClassVar[str] = "identity_link"

    event_name: str
    happened_at: MillisecondDatetime

    def unique_keys(self) -> tuple[str, ...]:
        """The event, in its workspace; an id may be longer than a key."""
        return (f"identity:{self.workspace_id.hex}/{sha256_hex(self.name)}",)

    def unique_key_error(self, key: str) -> ApiError:  # noqa: ARG002 - there is one
        """Somebody else was as quick."""
        return Conflict("Its links were taken back meanwhile")


REVOKED_LINK_TYPE: Final = ResourceType(RevokedIdentityLink, Scope.WRITE_RULES)
