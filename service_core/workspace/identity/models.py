"""Stored revocations of identity links."""

from typing import ClassVar, Final

from service_core.changes.resource import MillisecondDatetime, Resource, ResourceType
from service_core.kernel.errors import ApiError, Conflict
from service_core.kernel.ids import sha256_hex
from service_core.kernel.operations import Scope


class RevokedIdentityLink(Resource):
    """The revocation of the identity links of one event; the event itself is not changed.

    ``name`` is the id of the event. Revocations are kept for ever, so that an event store that replaces another one
    can apply them all.
    """

    resource_type: ClassVar[str] = "identity_link"

    event_name: str
    happened_at: MillisecondDatetime

    def unique_keys(self) -> tuple[str, ...]:
        """Returns the key of the event in its workspace; the id is hashed, as it can be longer than a key."""
        return (f"identity:{self.workspace_id.hex}/{sha256_hex(self.name)}",)

    def unique_key_error(self, key: str) -> ApiError:  # noqa: ARG002 - there is one
        """Returns the conflict with a concurrent revocation."""
        return Conflict("Its links were revoked meanwhile")


REVOKED_LINK_TYPE: Final = ResourceType(RevokedIdentityLink, Scope.WRITE_RULES)
