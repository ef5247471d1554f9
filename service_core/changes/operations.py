"""``GET /audit`` and undo (contract 5.4)."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.model import Caller
from service_core.changes.entry import AuditEntry, AuditQuestion
from service_core.changes.envelope import Envelope
from service_core.changes.undo import undo
from service_core.changes.write import Writes
from service_core.kernel.errors import BadRequest
from service_core.kernel.instants import parse
from service_core.kernel.operations import ANY_SCOPE, Budget, Reply, operation
from service_core.kernel.paging import Cursor, binding, seal, unseal
from service_core.kernel.params import Answer, BodyModel, Clamp, QueryModel

DryRun = Annotated[bool | None, Field(description="Show the change and make none.")]


class DryRunBody(BodyModel):
    """Whether only to show what would change."""

    dry_run: DryRun = None


class DryRunQuery(QueryModel):
    """The same for requests that send no body."""

    dry_run: DryRun = None


def dry_run_of(query: DryRunQuery, body: DryRunBody) -> bool | None:
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


class AuditPage(Answer):
    """Applied writes, newest first."""

    entries: list[AuditEntry]
    next_cursor: str | None


class AuditPath(BaseModel):
    """Which entry."""

    auditId: UUID  # noqa: N815 - as in the path


@operation("GET /audit", tag="audit")
async def list_audit(query: AuditQuery, *, who: Caller, writes: Writes) -> AuditPage:
    """Applied writes, newest first, each with the state it replaced."""
    asked = query.model_dump(exclude={"cursor"}, mode="json")
    bound = binding(who.workspace.id, "audit", asked)
    start = unseal(query.cursor, bound) if query.cursor else Cursor(0, who.now)
    question = AuditQuestion(
        until=start.asked_at,
        since=_since(query.since, who),
        resource_type=query.resource_type,
        resource_id=query.resource_id,
        actor_id=query.actor_id,
    )
    async with writes.units.look(who.workspace.id) as unit:
        found = await unit.audit.page(question, query.limit + 1, start.offset)
    more = len(found) > query.limit
    following = Cursor(start.offset + query.limit, start.asked_at)
    return AuditPage(entries=found[: query.limit], next_cursor=seal(following, bound) if more else None)


@operation(
    "POST /audit/{auditId}/undo",
    scope=ANY_SCOPE,
    budget=Budget.MUTATION,
    tag="audit",
    errors=(409,),
    body_optional=True,
    replays=True,
)
async def undo_change(path: AuditPath, body: DryRunBody, *, who: Caller, writes: Writes) -> Reply[Envelope]:
    """Take a change back.

    Needs the scope of the write it reverses. A create is not undone but deleted, an entry is undone
    once, and nothing that changed since is overwritten.
    """
    return await writes.run(who, undo(who, writes.kinds, path.auditId), dry_run=body.dry_run)


def _since(text: str | None, who: Caller) -> datetime | None:
    if text is None:
        return None
    span = parse(text, who.workspace.zone)
    if span is None:
        raise BadRequest("since must be a date or an instant (ISO 8601)", "invalid_parameter", field="since")
    return span.start


OPERATIONS = (list_audit, undo_change)
