"""A writable resource: a frozen record that is stored as it stands, and how its type is written."""

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
"""Fields that tell of the record itself: no change lists them."""


def _truncate_to_milliseconds(instant: datetime) -> datetime:
    return instant.replace(microsecond=instant.microsecond // 1000 * 1000)


MillisecondDatetime = Annotated[
    datetime,
    AfterValidator(_truncate_to_milliseconds),
    PlainSerializer(format_timestamp, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""An instant as precise as the wire is, so that a stored record reads back as it was."""


class Resource(BaseModel):
    """What every writable resource has. A subclass adds its fields and its ``resource_type``."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    resource_type: ClassVar[str]
    untold: ClassVar[frozenset[str]] = frozenset()
    """Fields that are kept and stand in no answer and no audit entry; a delete of such a type is not undone."""

    id: UUID
    workspace_id: UUID
    name: str
    created_at: MillisecondDatetime
    updated_at: MillisecondDatetime
    created_via: RequestInterface
    created_by: Actor

    @property
    def state(self) -> dict[str, Any]:
        """The whole record as JSON values."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def public_state(self) -> dict[str, Any]:
        """What of the record anybody gets to see."""
        return {name: value for name, value in self.state.items() if name not in self.untold}

    def next_updated_at(self, now: datetime) -> datetime:
        """``updated_at`` of a change made now: never that of the change before, so a reader can tell."""
        return max(now, self.updated_at + timedelta(milliseconds=1))

    def search_names(self) -> tuple[str, ...]:
        """What it is looked for by: its name, then what else it is known by."""
        return (self.name,)

    @property
    def search_text(self) -> str:
        """The names as `Records.named` looks through them: a line each, whatever their case."""
        return "\n".join(self.search_names()).replace("\0", "").lower()

    def unique_keys(self) -> tuple[str, ...]:
        """What no other live resource of the deployment may hold; name the workspace where that is the bound."""
        return ()

    def unique_key_error(self, key: str) -> ApiError:  # noqa: ARG002 - a type with several keys tells them apart
        """What is answered when another resource holds one of the unique keys."""
        return Conflict("Another resource stands in its place", "resource_changed")


R = TypeVar("R", bound=Resource)

NO_FILTER: Final[Mapping[str, str]] = MappingProxyType({})
"""Of a list without a filter."""


class RecordReader(Protocol):
    """Live records of one workspace, of every type, to look at."""

    async def get(self, model: type[R], resource_id: UUID) -> R | None:
        """The record with this id; None when there is none, or not any more."""

    async def get_many(self, model: type[R], ids: Collection[UUID]) -> dict[UUID, R]:
        """The records with these ids, by id; those that are not there, or not any more, are left out."""

    async def list_all(
        self,
        model: type[R],
        *,
        field_filters: Mapping[str, str] = NO_FILTER,
        mentioning_id: UUID | None = None,
    ) -> list[R]:
        """Every record of a type that matches, newest first, ties by id.

        Args:
            model: the type.
            matching: field of the state -> the text it holds.
            telling: an id that stands somewhere in the state.
        """

    async def list_page(
        self,
        model: type[R],
        limit: int,
        *,
        after: KeysetCursor | None = None,
        field_filters: Mapping[str, str] = NO_FILTER,
    ) -> list[R]:
        """Some records of a type, in the order of `every`.

        Args:
            model: the type.
            limit: at most so many.
            after: the record before the first of them; it need not be there any more.
            matching: as of `every`.
        """

    async def search_by_name(self, model: type[R], text: str, limit: int) -> list[R]:
        """Some records of a type one of whose names holds a text, whatever the case.

        Those whose own name starts with it come first, then they stand in the order of their names,
        ties by id.

        Args:
            model: the type.
            text: not empty.
            limit: at most so many.
        """


def no_effects(prior: State | None, new: State | None) -> tuple[State, ...]:  # noqa: ARG001 - as `Kind.effects`
    """A change that shows nowhere else."""
    return ()


@dataclass(frozen=True, slots=True)
class ResourceType:
    """How one type of resource is written.

    Attributes:
        scope: what a write of it needs, an undo included.
        effects: states before and after -> what the change does elsewhere, as effect objects.
        shown: state -> the resource on the wire. Values a dry run does not know yet are None.
        informed: the kind once it knows what other records say of one of its own, where effects or
            form depend on them.
        triggers: records of the workspace -> the events those of this type wait for; the workspace is
            told of them with every change.
        announced: states before and after -> whoever answers from a copy has heard of the change. Called
            last in its transaction; what it raises undoes the change.
        standing: records of the workspace, a record that an undo brings back -> nothing; raises `Conflict`
            when what it stood on is gone.
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
        """The kind with which to tell of a record and its change."""
        return await self.with_related(records, record) if self.with_related else self


@dataclass(frozen=True, slots=True)
class ResourceDefinition:
    """A type of resource as it is brought along; nothing else has to know of it.

    Attributes:
        kind: how it is written; or a function that says so, whose keyword-only parameters are matched by
            their annotations, as those of a handler.
        operations: its endpoints.
    """

    resource_type: ResourceType | Callable[..., ResourceType]
    operations: tuple[Operation, ...] = ()
