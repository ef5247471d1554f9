"""Endpoints for the audit log and for undo."""

from service_core.access.models import Caller, RequestInterface
from service_core.changes.audit_log import AuditFilter
from service_core.changes.audit_visibility import visible_entries
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.envelope import Envelope
from service_core.changes.schemas import AuditPage, AuditPath, AuditQuery, DryRunBody, DryRunQuery
from service_core.changes.undo import plan_undo
from service_core.kernel.errors import BadRequest
from service_core.kernel.operations import (
    ANY_SCOPE,
    HandlerResponse,
    RateLimitClass,
    Reversibility,
    operation,
)
from service_core.kernel.paging import (
    OffsetCursor,
    cursor_scope_digest,
    decode_offset_cursor,
    encode_offset_cursor,
)
from service_core.kernel.time_ranges import TimeRange
from service_core.kernel.timestamps import parse_span_of_date_or_timestamp


def parse_span_in_workspace_zone(name: str, text: str | None, caller: Caller) -> TimeRange | None:
    """Returns the time that a parameter names; None if it was not sent.

    Raises:
        BadRequest: ``invalid_parameter``.
    """
    if text is None:
        return None
    span = parse_span_of_date_or_timestamp(text, caller.workspace.zone)
    if span is None:
        raise BadRequest(f"{name} must be a date or a timestamp (ISO 8601)", "invalid_parameter", field=name)
    return span


def requested_dry_run(query: DryRunQuery, body: DryRunBody) -> bool | None:
    """Returns ``dry_run`` of a delete request, from its body or else its query; None if it is in neither."""
    return query.dry_run if body.dry_run is None else body.dry_run


@operation("GET /audit", tag="audit")
async def list_audit(query: AuditQuery, *, caller: Caller, executor: ChangeExecutor) -> AuditPage:
    """List applied changes, newest first, each with the state it replaced."""
    parameters = query.cursor_parameters()
    scope_digest = cursor_scope_digest(caller.workspace.secret, caller.workspace.id, "audit", parameters)
    cursor = decode_offset_cursor(query.cursor, scope_digest) if query.cursor else OffsetCursor(0, caller.now)
    since = parse_span_in_workspace_zone("since", query.since, caller)
    until = parse_span_in_workspace_zone("until", query.until, caller)
    audit_filter = AuditFilter(
        until=min(cursor.first_requested_at, until.end) if until else cursor.first_requested_at,
        since=since.start if since else None,
        resource_type=query.resource_type,
        resource_id=query.resource_id,
        actor_id=query.key_id or query.actor_id,
        actor_type="key" if query.key_id else None,
        client_id=query.client_id,
        via=RequestInterface(query.created_via) if query.created_via else None,
    )
    if query.key_id and query.actor_id not in (None, query.key_id):
        return AuditPage(entries=[], next_cursor=None)
    async with executor.transactions.read(caller.workspace.id) as transaction:
        entries = await transaction.audit.list_entries(audit_filter, query.limit + 1, cursor.offset)
        shown = await visible_entries(entries[: query.limit], caller, executor.resource_types, transaction)
    has_more = len(entries) > query.limit
    next_cursor = OffsetCursor(cursor.offset + query.limit, cursor.first_requested_at)
    return AuditPage(
        entries=shown,
        next_cursor=encode_offset_cursor(next_cursor, scope_digest) if has_more else None,
    )


@operation(
    "POST /audit/{auditId}/undo",
    scope=ANY_SCOPE,
    rate_limit=RateLimitClass.MUTATION,
    tag="audit",
    errors=(409,),
    body_optional=True,
    idempotent=True,
    tool="undo",
    reversibility=Reversibility.REVERSIBLE_WITH_EFFECTS,
)
async def undo_change(
    path: AuditPath, body: DryRunBody, *, caller: Caller, executor: ChangeExecutor
) -> HandlerResponse[Envelope]:
    """Undo a change, with the scope of the write it reverses.

    A creation is deleted instead, an entry is undone once, and later changes are not overwritten.
    """
    return await executor.preview_or_apply_change(
        caller, plan_undo(caller, executor.resource_types, path.auditId), dry_run=body.dry_run
    )


OPERATIONS = (list_audit, undo_change)
