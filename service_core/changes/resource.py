"""Base class of writable resources, and the definition of a resource type."""

import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Protocol, Self, TypeVar, get_type_hints
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from service_core.access.models import Caller, RequestInterface
from service_core.changes.actor import Actor
from service_core.kernel.errors import ApiError, Conflict
from service_core.kernel.operations import Scope
from service_core.kernel.paging import KeysetCursor
from service_core.kernel.timestamps import format_timestamp, truncate_to_milliseconds

State = Mapping[str, Any]
"""A record as JSON values."""

METADATA_FIELDS: Final = frozenset(
    {"id", "workspace_id", "created_at", "updated_at", "created_via", "created_by"}
)
"""Fields that describe the record itself; changes do not list them."""


MillisecondDatetime = Annotated[
    datetime,
    AfterValidator(truncate_to_milliseconds),
    PlainSerializer(format_timestamp, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A timestamp truncated to milliseconds, the precision of answers, so that a stored record reads back unchanged."""


class Resource(BaseModel):
    """Fields of every writable resource. A subclass adds its fields and its ``resource_type``."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    resource_type: ClassVar[str]
    hidden_fields: ClassVar[frozenset[str]] = frozenset()
    """Stored fields that no answer or audit entry contains. Deletions of such a type are not undone."""

    id: UUID
    workspace_id: UUID
    name: str
    created_at: MillisecondDatetime
    updated_at: MillisecondDatetime
    created_via: RequestInterface
    created_by: Actor

    @property
    def state(self) -> dict[str, Any]:
        """The complete record as JSON values."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def public_state(self) -> dict[str, Any]:
        """The record without its hidden fields."""
        return {name: value for name, value in self.state.items() if name not in self.hidden_fields}

    def next_updated_at(self, now: datetime) -> datetime:
        """Returns ``updated_at`` for a change at ``now``, always later than that of the previous change."""
        return max(now, self.updated_at + timedelta(milliseconds=1))

    def with_fields(self, now: datetime, **changed: Any) -> Self:
        """Returns a copy with these fields replaced and a later ``updated_at``."""
        fields = {**dict(self), **changed, "updated_at": self.next_updated_at(now)}
        return type(self).model_validate(fields)

    def as_of(self, now: datetime) -> Self:  # noqa: ARG002 - for types with fields that change by time alone
        """Returns the record as it stands at an instant."""
        return self

    def is_visible_to(self, caller: Caller) -> bool:  # noqa: ARG002 - for types with private records
        """Returns whether a caller of the workspace can read and change the record; others do not find it."""
        return True

    def search_names(self) -> tuple[str, ...]:
        """Returns the texts by which a search finds the resource: its name, then others."""
        return (self.name,)

    @property
    def search_text(self) -> str:
        """The search names as `RecordReader.search_by_name_prefix_first` matches them: one per line, lower case."""
        return "\n".join(self.search_names()).replace("\0", "").lower()

    def unique_keys(self) -> tuple[str, ...]:
        """Returns keys that no other resource of the deployment may have. Include the workspace id to limit it to a workspace."""
        return ()

    def unique_key_error(self, key: str) -> ApiError:  # noqa: ARG002 - a type with several keys tells them apart
        """Returns the error for a unique key that another resource has."""
        return Conflict("Another resource has the same unique key", "resource_changed")


R = TypeVar("R", bound=Resource)

NO_FILTER: Final[Mapping[str, str]] = MappingProxyType({})
"""Matches every record of a list."""


class RecordReader(Protocol):
    """Reads resources of one workspace, of every type."""

    async def get(self, model: type[R], resource_id: UUID) -> R | None:
        """Returns the record with this id; None if it does not exist or was deleted."""

    async def get_many(self, model: type[R], ids: Collection[UUID]) -> dict[UUID, R]:
        """Returns the records with these ids, by id; missing and deleted ones are left out."""

    async def list_all(
        self,
        model: type[R],
        *,
        field_filters: Mapping[str, str] = NO_FILTER,
        mentioning_id: UUID | None = None,
    ) -> list[R]:
        """Returns all matching records of a type, newest first, ties by id.

        Args:
            model: the resource type.
            field_filters: field of the state to the text it must equal.
            mentioning_id: an id that must occur anywhere in the state.
        """

    async def count(self, model: type[R], *, field_filters: Mapping[str, str]) -> int:
        """Returns how many records `list_all` would return, without reading their content."""

    async def list_page(
        self,
        model: type[R],
        limit: int,
        *,
        after: KeysetCursor | None = None,
        field_filters: Mapping[str, str] = NO_FILTER,
    ) -> list[R]:
        """Returns records of a type in the order of `list_all`.

        Args:
            model: the resource type.
            limit: most records to return.
            after: position of the record before the first one; it may have been deleted.
            field_filters: as in `list_all`.
        """

    async def search_by_name_prefix_first(self, model: type[R], text: str, limit: int) -> list[R]:
        """Returns records of a type whose search names contain a text, case-insensitive.

        Records whose name starts with the text come first; then they are sorted by name, ties by id.

        Args:
            model: the resource type.
            text: not empty.
            limit: most records to return.
        """


class RecordStorage(Protocol):
    """Where the records of one type are kept, within a transaction."""

    async def get(self, model: type[R], resource_id: UUID) -> R | None:
        """Returns the record with this id; None if it does not exist or was deleted."""

    async def list_all(self, model: type[R]) -> list[R]:
        """Returns all records of a type, newest first."""

    async def save(self, record: Resource) -> None:
        """Adds a record, replaces the one with its id, or restores a removed one."""

    async def remove(self, record: Resource, now: datetime) -> None:
        """Removes a record."""


def store_as_resource(transaction: Any) -> RecordStorage:
    """Returns the repository of the transaction, where records are kept as JSON."""
    repository: RecordStorage = transaction.resources
    return repository


def permit_any_caller(caller: Caller, prior: State | None, new: State | None) -> None:
    """Permits every caller with the scope of the type."""


Serializer = Callable[[State], State]
"""State of a record -> the record on the wire. Values a dry run does not know yet are None."""


async def no_effects(records: RecordReader, prior: State | None, new: State | None) -> Sequence[State]:  # noqa: ARG001 - as `ResourceType.effects`
    """Returns no effects, for types whose changes affect nothing else."""
    return ()


async def no_warnings(caller: Caller, new: State | None) -> Sequence[State]:  # noqa: ARG001 - as `ResourceType.warnings`
    """Returns no warnings, for types whose records cannot be mistaken."""
    return ()


async def load_plain_serializer(records: RecordReader, resources: Sequence[Resource]) -> Serializer:  # noqa: ARG001 - as `ResourceType.serializer`
    """Returns the serializer of a type whose records are shown as they are stored."""
    return dict


@dataclass(frozen=True, slots=True)
class ResourceType:
    """How resources of one type are written and serialized.

    Each function may have keyword-only parameters: its dependencies, matched by their annotations when the
    service is composed.

    Attributes:
        scope: the scope that a write needs, an undo included.
        effects: ``async (records, prior, new)`` -> effect objects that describe what a change of a record from one
            state to the other does to other resources.
        warnings: ``async (caller, new)`` -> further effect objects that warn of what the new state may have got wrong.
        serializer: ``async (records, resources)`` -> the function that serializes these records. Among the records of a
            dry run is one that is not stored.
        triggers: ``async (records)`` -> the events that records of this type wait for; stored with the
            workspace at each change.
        on_change: ``async (records, prior, new)``, called last in the transaction of a change to update
            copies of the record elsewhere; an exception rolls the change back.
        check_restorable: ``async (records, record)``, raises `Conflict` when an undo cannot restore the record.
        storage: transaction -> where the records are kept, for a type that has tables of its own.
        outside_effects: types of effects that reach people or systems outside the workspace and cannot be taken back.
        retire: ``(record, now)`` -> the record that stands for a creation taken back, for a type whose records are
            not deleted.
        check_permitted: ``(caller, prior, new)``, raises `Forbidden` when a change needs more than the scope.
        irreversible_fields: fields whose changes cannot be taken back.
    """

    model: type[Resource]
    scope: Scope
    effects: Callable[..., Awaitable[Sequence[State]]] = no_effects
    warnings: Callable[..., Awaitable[Sequence[State]]] = no_warnings
    serializer: Callable[..., Awaitable[Serializer]] = load_plain_serializer
    triggers: Callable[..., Awaitable[frozenset[str]]] | None = None
    on_change: Callable[..., Awaitable[None]] | None = None
    check_restorable: Callable[..., Awaitable[None]] | None = None
    storage: Callable[[Any], RecordStorage] = store_as_resource
    check_permitted: Callable[[Caller, State | None, State | None], None] = permit_any_caller
    outside_effects: frozenset[str] = frozenset()
    irreversible_fields: frozenset[str] = frozenset()
    retire: Callable[[Any, datetime], Resource] | None = None

    def with_dependencies(self, provide_dependency: Callable[[str, str, Any], object]) -> "ResourceType":
        """Returns the type with the dependencies of its functions filled in.

        Args:
            provide_dependency: name of a function, its parameter and the annotation -> the value.
        """
        bound: dict[str, Any] = {}
        for field in fields(self):
            function = getattr(self, field.name)
            if inspect.isfunction(function) and (types := keyword_only_annotations(function)):
                dependencies = {
                    name: provide_dependency(function.__name__, name, type_) for name, type_ in types.items()
                }
                bound[field.name] = partial(function, **dependencies)
        return replace(self, **bound)


@lru_cache(maxsize=1024)
def keyword_only_annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the annotations of the keyword-only parameters of a function."""
    hints, parameters = get_type_hints(function), inspect.signature(function).parameters
    return {
        name: hints[name]
        for name, parameter in parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
