"""Base class of writable resources, and the definition of a resource type."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Protocol, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainSerializer, WithJsonSchema

from service_core.access.models import RequestInterface
from service_core.changes.actor import Actor
from service_core.kernel.errors import ApiError, Conflict
from service_core.kernel.operations import Operation, Scope
from service_core.kernel.paging import KeysetCursor
from service_core.kernel.timestamps import format_timestamp

State = Mapping[str, Any]
"""A record as JSON values."""

METADATA_FIELDS: Final = frozenset(
    {"id", "workspace_id", "created_at", "updated_at", "created_via", "created_by"}
)
"""Fields that describe the record itself; changes do not list them."""


def _truncate_to_milliseconds(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


MillisecondDatetime = Annotated[
    datetime,
    AfterValidator(_truncate_to_milliseconds),
    PlainSerializer(format_timestamp, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A timestamp truncated to milliseconds, the precision of answers, so that a stored record reads back unchanged."""


class Resource(BaseModel):
    """Fields of every writable resource. A subclass adds its fields and its ``resource_type``."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    resource_type: ClassVar[str]
    untold: ClassVar[frozenset[str]] = frozenset()
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
        return {name: value for name, value in self.state.items() if name not in self.untold}

    def next_updated_at(self, now: datetime) -> datetime:
        """Returns ``updated_at`` for a change at ``now``, always later than that of the previous change."""
        return max(now, self.updated_at + timedelta(milliseconds=1))

    def search_names(self) -> tuple[str, ...]:
        """Returns the texts by which a search finds the resource: its name, then others."""
        return (self.name,)

    @property
    def search_text(self) -> str:
        """The search names as `RecordReader.search_by_name` matches them: one per line, lower case."""
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

    async def search_by_name(self, model: type[R], text: str, limit: int) -> list[R]:
        """Returns records of a type whose search names contain a text, case-insensitive.

        Records whose name starts with the text come first; then they are sorted by name, ties by id.

        Args:
            model: the resource type.
            text: not empty.
            limit: most records to return.
        """


def no_effects(prior: State | None, new: State | None) -> tuple[State, ...]:  # noqa: ARG001 - as `Kind.effects`
    """Returns no effects; the default of `ResourceType.effects`."""
    return ()


@dataclass(frozen=True, slots=True)
class ResourceType:
    """How resources of one type are written and serialized.

    Attributes:
        scope: scope required for a write or undo.
        effects: returns the effects of a change elsewhere as JSON objects, from the states before and after.
        serialize: returns the resource in answers from its state. Values a dry run does not know yet are None.
        with_related: returns the type extended with related records that effects or serialization depend on.
        triggers: returns the trigger event names of the workspace from its records; stored after each change.
        on_change: called last in the transaction with the states before and after; an exception rolls it back.
        check_restorable: called before an undo restores a deleted record; raises `Conflict` if a record it refers to no
            longer exists.
    """

    model: type[Resource]
    scope: Scope
    effects: Callable[[State | None, State | None], tuple[State, ...]] = no_effects
    serialize: Callable[[State], State] = dict
    with_related: Callable[[RecordReader, Resource], Awaitable["ResourceType"]] | None = None
    triggers: Callable[[RecordReader], Awaitable[frozenset[str]]] | None = None
    on_change: Callable[[State | None, State | None], Awaitable[None]] | None = None
    check_restorable: Callable[[RecordReader, Any], Awaitable[None]] | None = None

    async def resolve(self, records: RecordReader, record: Resource) -> "ResourceType":
        """Returns the type extended with the records related to ``record``."""
        return await self.with_related(records, record) if self.with_related else self


@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """A resource type with its endpoints, as a plugin registers it.

    Attributes:
        resource_type: the type, or a function that returns it; its keyword-only parameters are injected by their
            annotations, as those of a handler.
        operations: its endpoints.
    """

    resource_type: ResourceType | Callable[..., ResourceType]
    operations: tuple[Operation, ...] = ()
