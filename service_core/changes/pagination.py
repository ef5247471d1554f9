"""Lists that are paged by cursor, newest first (contract 2.9)."""

from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import Field

from service_core.access.models import Caller
from service_core.changes.resource import NO_FILTER, R, RecordReader, Resource
from service_core.kernel.paging import (
    KeysetCursor,
    cursor_scope_digest,
    decode_keyset_cursor,
    encode_keyset_cursor,
)
from service_core.kernel.schemas import Clamp, QueryModel


class ListQuery(QueryModel):
    """Parameters of a paged list."""

    limit: Annotated[int, Clamp(1, 500)] = 100
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")


async def paginate_records(
    records: RecordReader,
    model: type[R],
    query: ListQuery,
    caller: Caller,
    *,
    field_filters: Mapping[str, str] = NO_FILTER,
    predicate: Callable[[R], bool] = lambda _: True,
) -> tuple[list[R], str | None]:
    """One page of the records of a type, newest first, and the cursor that leads on.

    What is made while somebody walks stays out of the walk, and what is deleted shifts nothing.

    Args:
        records: of the caller's workspace.
        model: the type.
        query: how many, and where the page before ended.
        who: who asks; a cursor is bound to the workspace and to the rest of the query.
        matching: field of the state -> the text it holds.
        fits: whether a record belongs to the list, where its fields alone do not tell.

    Raises:
        BadRequest: ``invalid_cursor``.
    """
    asked = query.model_dump(mode="json", exclude={"cursor"})
    bound = cursor_scope_digest(caller.workspace.id, type(query).__name__, asked)
    after = decode_keyset_cursor(query.cursor, bound) if query.cursor else None
    found: list[R] = []
    enough = query.limit + 1
    while len(found) < enough:
        some = await records.list_page(model, enough, after=after, field_filters=field_filters)
        found += filter(predicate, some)
        if len(some) < enough:
            break
        after = _keyset_cursor(some[-1])
    page = found[: query.limit]
    return page, encode_keyset_cursor(_keyset_cursor(page[-1]), bound) if len(found) > query.limit else None


def _keyset_cursor(record: Resource) -> KeysetCursor:
    return KeysetCursor(record.created_at, record.id)
