"""The actor of a change, as stored with the changed resource and in the audit log."""

from typing import Literal
from uuid import UUID

from pydantic import SerializerFunctionWrapHandler, model_serializer

from service_core.access.models import ActingUser, Caller
from service_core.kernel.schemas import ResponseModel


class Actor(ResponseModel):
    """The actor that created a resource."""

    type: Literal["user", "key", "system"]
    id: UUID
    client_id: str | None


class NamedActor(Actor):
    """The actor of a change with its name at that time: the key's name or the person's e-mail address."""

    name: str
    client_name: str | None = None
    """Name of the program that a person authorized over OAuth, as it called itself; left out if there is none."""

    @model_serializer(mode="wrap")
    def _omit_missing_client_name(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def] # noqa: ANN202 - a return type would replace the schema
        return {
            name: value for name, value in handler(self).items() if name != "client_name" or value is not None
        }


def build_actor(caller: Caller) -> Actor:
    """Returns the person behind an OAuth token or a page, otherwise the key. A page has no client."""
    if caller.acting_user is None:
        return Actor(type="system" if caller.is_system else "key", id=caller.credential.id, client_id=None)
    grant = caller.acting_user.grant
    return Actor(type="user", id=grant.account_id, client_id=grant.client_id or None)


def build_named_actor(caller: Caller) -> NamedActor:
    """Returns the actor with its name."""
    if caller.acting_user:
        return name_person(caller.acting_user)
    return NamedActor(**build_actor(caller).model_dump(), name=caller.credential.name)


def name_person(person: ActingUser) -> NamedActor:
    """Returns a person as an actor, with the program that acts for them."""
    grant = person.grant
    return NamedActor(
        type="user",
        id=grant.account_id,
        client_id=grant.client_id or None,
        name=person.email,
        client_name=grant.client_name or None,
    )
