"""``GET /audit`` and undo (contract 5.4)."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.models import Caller
from service_core.changes.audit_log import AuditEntry, AuditFilter
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.undo import plan_undo
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import ANY_SCOPE, HandlerResponse, RateLimitClass, operation
from service_core.kernel.paging import (
    OffsetCursor,
    cursor_scope_digest,
    decode_offset_cursor,
    encode_offset_cursor,
)
from service_core.kernel.schemas import BodyModel, Clamp, QueryModel, ResponseModel
from service_core.kernel.timestamps import parse_date_or_timestamp

DryRun = Annotated[bool | None, Field(description="Show the change and make none.")]


class DryRunBody(BodyModel):
    """Whether only to show what would change."""

    dry_run: DryRun = None


class DryRunQuery(QueryModel):
    """The same for requests that send no body."""

    dry_run: DryRun = None


def requested_dry_run(query: DryRunQuery, body: DryRunBody) -> bool | None:
    """What a delete says, in its body or else in its query; None when it says nothing."""
    return query.dry_run if body.dry_run is None else body.dry_run


class AuditQuery(QueryModel):
    """Parameters of `GET /audit`."""

    limit: Annotated[int, Clamp(1, 200)] = 50
    cursor: str | None = Field(None, description="`next_cursor` of the page before.")
    resource_type: str | None = None
    resource_id: UUID | None = None
    actor_id: UUID | None = None
    since: str | None = Field(None, description="A date or an instant; earlier entries are left out.")


class AuditPage(ResponseModel):
    """Applied writes, newest first."""

    entries: list[AuditEntry]
    next_cursor: str | None


class AuditPath(BaseModel):
    """Which entry."""

    auditId: UUID  # noqa: N815 - as in the path


@operation("GET /audit", tag="audit")
async def list_audit(query: AuditQuery, *, caller: Caller, writes: ChangeExecutor) -> AuditPage:
    """Applied writes, newest first, each with the state it replaced."""
    asked = query.model_dump(exclude={"cursor"}, mode="json")
    bound = cursor_scope_digest(caller.workspace.id, "audit", asked)
    start = decode_offset_cursor(query.cursor, bound) if query.cursor else OffsetCursor(0, caller.now)
    question = AuditFilter(
        until=start.first_requested_at,
        since=_parse_since(query.since, caller),
        resource_type=query.resource_type,
        resource_id=query.resource_id,
        actor_id=query.actor_id,
    )
    async with writes.transactions.read(caller.workspace.id) as unit:
        found = await unit.audit.list_entries(question, query.limit + 1, start.offset)
    more = len(found) > query.limit
    following = OffsetCursor(start.offset + query.limit, start.first_requested_at)
    return AuditPage(
        entries=found[: query.limit], next_cursor=encode_offset_cursor(following, bound) if more else None
    )


@operation(
    "POST /audit/{auditId}/undo",
    scope=ANY_SCOPE,
    rate_limit=RateLimitClass.MUTATION,
    tag="audit",
    errors=(409,),
    body_optional=True,
    idempotent=True,
)
async def undo_change(
    path: AuditPath, body: DryRunBody, *, caller: Caller, writes: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Take a change back.

    Needs the scope of the write it reverses. A create is not undone but deleted, an entry is undone
    once, and nothing that changed since is overwritten.
    """
    return await writes.execute(
        caller, plan_undo(caller, writes.resource_types, path.auditId), dry_run=body.dry_run
    )


def _parse_since(text: str | None, caller: Caller) -> datetime | None:
    if text is None:
        return None
    span = parse_date_or_timestamp(text, caller.workspace.zone)
    if span is None:
        raise BadRequest("since must be a date or an instant (ISO 8601)", "invalid_parameter", field="since")
    return span.start


OPERATIONS = (list_audit, undo_change)
