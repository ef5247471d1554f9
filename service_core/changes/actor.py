"""Who changed something, as it is kept beside what was changed (contract 2.10)."""

from typing import Literal
from uuid import UUID

from service_core.access.models import Caller
from service_core.kernel.schemas import ResponseModel


class Actor(ResponseModel):
    """Whoever made a resource."""

    type: Literal["user", "key", "system"]
    id: UUID
    client_id: str | None


class NamedActor(Actor):
    """Whoever made a change, with the name at that time: of the key, or the person's address."""

    name: str


def build_actor(caller: Caller) -> Actor:
    """The person behind an OAuth token or a page, otherwise the key; a page has no client."""
    if caller.acting_user is None:
        return Actor(type="system" if caller.is_system else "key", id=caller.credential.id, client_id=None)
    grant = caller.acting_user.grant
    return Actor(type="user", id=grant.account_id, client_id=grant.client_id or None)


def build_named_actor(caller: Caller) -> NamedActor:
    """The actor with its name."""
    name = caller.acting_user.email if caller.acting_user else caller.credential.name
    return NamedActor(**build_actor(caller).model_dump(), name=name)
