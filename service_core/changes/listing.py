"""Lists that are paged by cursor, newest first (contract 2.9)."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from service_core.access.model import Caller
from service_core.changes.resource import R
from service_core.kernel.paging import Cursor, binding, seal, unseal
from service_core.kernel.params import Clamp, QueryModel


class ListQuery(QueryModel):
    """Parameters of a paged list."""

    limit: Annotated[int, Clamp(1, 500)] = 100
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")


def page_of(records: Sequence[R], query: ListQuery, who: Caller) -> tuple[list[R], str | None]:
    """One page of records that are newest first, and the cursor that leads on.

    What is made while somebody walks stays out of the walk.

    Raises:
        BadRequest: ``invalid_cursor``.
    """
    asked = query.model_dump(mode="json", exclude={"cursor"})
    bound = binding(who.workspace.id, type(query).__name__, asked)
    start = unseal(query.cursor, bound) if query.cursor else Cursor(0, who.now)
    known = [record for record in records if record.created_at <= start.asked_at]
    end = start.offset + query.limit
    following = Cursor(end, start.asked_at)
    return known[start.offset : end], seal(following, bound) if len(known) > end else None
