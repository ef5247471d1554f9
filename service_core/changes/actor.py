"""The actor of a change, as stored with the changed resource and in the audit log."""

from typing import Literal
from uuid import UUID

from service_core.access.models import Caller
from service_core.kernel.schemas import ResponseModel


class Actor(ResponseModel):
    """The actor that created a resource."""

    type: Literal["user", "key", "system"]
    id: UUID
    client_id: str | None


class NamedActor(Actor):
    """The actor of a change with its name at that time: the key's name or the person's e-mail address."""

    name: str


def build_actor(caller: Caller) -> Actor:
    """Returns the person behind an OAuth token or a page, otherwise the key. A page has no client."""
    if caller.acting_user is None:
        return Actor(type="system" if caller.is_system else "key", id=caller.credential.id, client_id=None)
    grant = caller.acting_user.grant
    return Actor(type="user", id=grant.account_id, client_id=grant.client_id or None)


def build_named_actor(caller: Caller) -> NamedActor:
    """Returns the actor with its name."""
    name = caller.acting_user.email if caller.acting_user else caller.credential.name
    return NamedActor(**build_actor(caller).model_dump(), name=name)
