"""Who changed something, as it is kept beside what was changed (contract 2.10)."""

from typing import Literal
from uuid import UUID

from service_core.access.model import Caller
from service_core.kernel.params import Answer


class Actor(Answer):
    """Whoever made a resource."""

    type: Literal["user", "key", "system"]
    id: UUID
    client_id: str | None


class NamedActor(Actor):
    """Whoever made a change, with the name at that time: of the key, or the person's address."""

    name: str


def actor_of(who: Caller) -> Actor:
    """The person behind an OAuth token or a page, otherwise the key; a page has no client."""
    if who.delegate is None:
        return Actor(type="system" if who.is_system else "key", id=who.credential.id, client_id=None)
    grant = who.delegate.grant
    return Actor(type="user", id=grant.account_id, client_id=grant.client_id or None)


def named_actor_of(who: Caller) -> NamedActor:
    """The actor with its name."""
    name = who.delegate.email if who.delegate else who.credential.name
    return NamedActor(**actor_of(who).model_dump(), name=name)
