"""Keyset pagination of resource lists, newest first."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field

from service_core.access.models import Caller
from service_core.changes.resource import NO_FILTER, R, RecordReader, Resource
from service_core.kernel.paging import (
    KeysetCursor,
    cursor_scope_digest,
    decode_keyset_cursor,
    encode_keyset_cursor,
)
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp


class ListQuery(RowSelection):
    """Parameters of a paginated list."""

    limit: Annotated[int, Clamp(1, 500)] = 100
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")

    def filters_by_record_field(self) -> Mapping[str, str]:
        """Returns the parameters other than page size and cursor: field name to the text the field must equal."""
        return {
            name: str(value)
            for name, value in self
            if name not in ListQuery.model_fields and value is not None
        }

    def matches(self, record: Any) -> bool:  # noqa: ARG002 - for filters beyond equal fields
        """Returns whether a record that passed the field filters belongs to the list; a subclass may test more."""
        return True


async def paginate_records(
    records: RecordReader,
    model: type[R],
    query: ListQuery,
    caller: Caller,
    *,
    field_filters: Mapping[str, str] = NO_FILTER,
    predicate: Callable[[R], bool] = lambda _: True,
) -> tuple[list[R], str | None]:
    """Returns one page of the resources of a type, newest first, and the cursor of the next page.

    Resources created after the first page do not appear on later pages, and deleted ones do not shift them.

    Args:
        records: resources of the caller's workspace.
        model: the resource type.
        query: page size and cursor.
        caller: the caller; a cursor is bound to the workspace and the rest of the query.
        field_filters: field of the state to the text it must equal.
        predicate: whether a resource belongs to the list, if its fields alone do not decide it.

    Raises:
        BadRequest: ``invalid_cursor``.
    """
    parameters = query.cursor_parameters()
    scope_digest = cursor_scope_digest(
        caller.workspace.secret, caller.workspace.id, type(query).__name__, parameters
    )
    after = decode_keyset_cursor(query.cursor, scope_digest) if query.cursor else None
    matches: list[R] = []
    batch_size = query.limit + 1
    while len(matches) < batch_size:
        batch = await records.list_page(model, batch_size, after=after, field_filters=field_filters)
        matches += filter(predicate, batch)
        if len(batch) < batch_size:
            break
        after = _keyset_cursor(batch[-1])
    page = matches[: query.limit]
    return page, encode_keyset_cursor(_keyset_cursor(page[-1]), scope_digest) if len(
        matches
    ) > query.limit else None


def _keyset_cursor(record: Resource) -> KeysetCursor:
    return KeysetCursor(record.created_at, record.id)
