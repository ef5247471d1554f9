"""`/exports`: create an export, poll the job, download the file."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.models import Caller, RequestInterface, Workspace
from service_core.access.oauth.ports import OAuthGrants
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import DimensionFilter
from service_core.analytics.query.segments import compile_conditions_on_single_events
from service_core.analytics.reads.event_list import EventsQuery
from service_core.changes.idempotency import idempotency_digest
from service_core.delivery.exports.filters import (
    Query,
    build_read_query,
    filters_as_sent,
    segment_filters_to_json,
    validate_export_query,
)
from service_core.delivery.exports.models import MAX_ACTIVE, Export, ExportFormat, ExportStatus, ExportType
from service_core.delivery.exports.ports import (
    Exports,
    ExportStorage,
    ExportStorageUnavailable,
    JobQueue,
    JobQueueUnavailable,
)
from service_core.delivery.exports.signing import is_download_link_valid, sign_download
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Forbidden, NotFound, ServiceUnavailable, TooManyRequests
from service_core.kernel.file_response import CSV_MEDIA_TYPE, NDJSON_MEDIA_TYPE, FileResponse
from service_core.kernel.ids import new_id
from service_core.kernel.null_reasons import KNOWN_NULL
from service_core.kernel.operations import HandlerResponse, RateLimitClass, RoutePrefix, Scope, operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import BodyModel, Clamp, QueryModel, ResponseModel
from service_core.kernel.settings import Settings

LINK_LIFETIME: Final = timedelta(hours=1)
_LINK_FAILED: Final = "The download link could not be made; poll again"
_UNKNOWN_SECRET: Final = secrets.token_bytes(32)
"""Stands for the secret of an export that does not exist, so that guessing ids tells nothing."""


class CreateExportRequest(BodyModel):
    """Type, range and format of an export."""

    required_params: ClassVar = ("start_date", "end_date")
    type: ExportType
    format: ExportFormat = ExportFormat.CSV
    start_date: str | None = Field(None, description="Start, inclusive: a date or an instant.")
    end_date: str | None = Field(None, description="End, inclusive; at most 366 days.")
    filters: dict[str, Any] = Field(
        default_factory=dict, description="Filters of the read endpoint; each type has its own list."
    )


class ExportParams(ResponseModel):
    """The range and filters an export was created with."""

    start_date: str
    end_date: str
    filters: dict[str, Any]


class _ExportBase(ResponseModel):
    """Fields of a job in every answer."""

    id: UUID
    status: ExportStatus
    type: ExportType
    format: ExportFormat
    created_at: datetime
    expires_at: datetime
    params: ExportParams


class ExportQueued(_ExportBase):
    """A job that waits for a worker."""

    poll_url: str


class DownloadLink(ResponseModel):
    """A link to the file, made for this answer."""

    url: str
    expires_at: datetime
    expires_in: int


class ExportJob(_ExportBase):
    """An export job."""

    row_count: Annotated[int | None, KNOWN_NULL]
    truncated: bool
    error: str | None
    started_at: datetime | None
    completed_at: datetime | None
    download: DownloadLink | None
    download_error: str | None


class ExportList(ResponseModel):
    """Recent jobs, newest first."""

    exports: list[ExportJob]


class ListQuery(RowSelection):
    """Parameters of `GET /exports`."""

    limit: Annotated[int, Clamp(1, 100)] = 20


class ExportPath(BaseModel):
    """Which export."""

    exportId: UUID  # noqa: N815 - as in the path


class LinkQuery(QueryModel):
    """Parameters of a download link."""

    required_params: ClassVar = ("expires", "sig")
    expires: str | None = Field(default=None, description="Unix time at which the link ends.")
    grant: str | None = Field(
        default=None, description="Grant of the program that asked, which ends the link."
    )
    sig: str | None = Field(default=None, description="Signature of the link, in hex.")


async def _read_segment_of_events(
    query: Query, caller: Caller, queries: MetricQueries
) -> tuple[DimensionFilter, ...]:
    """Returns the filters of the segment that an export of events names; nothing without one.

    Raises:
        BadRequest: ``unknown_segment``, or ``incompatible_dimension`` for a filter that events do not have.
    """
    if not isinstance(query, EventsQuery):
        return ()
    segment = await queries.read_segment_filters(caller, query.segment_id, ())
    compile_conditions_on_single_events(queries.catalog, segment)
    return segment


@operation("POST /exports", tag="exports", statuses=(202,), starts_background_work=True, idempotent=True)
async def create_export(
    body: CreateExportRequest,
    *,
    caller: Caller,
    exports: Exports,
    jobs: JobQueue,
    models: AttributionModels,
    queries: MetricQueries,
    settings: Settings,
) -> HandlerResponse[ExportQueued]:
    """Ask for a file of events, persons or attribution.

    A worker writes it; poll `poll_url` until it is completed. At most five exports of a workspace are
    queued or running, a range covers 366 days, a file holds 1,000,000 rows (users 100,000).
    """
    query = build_read_query(body.type, body.start_date, body.end_date, body.filters)
    validate_export_query(query, caller, models)
    segment = await _read_segment_of_events(query, caller, queries)
    export = Export(
        id=new_id(),
        workspace_id=caller.workspace.id,
        credential_id=caller.credential.id,
        subject=body.type,
        format=body.format,
        start_date=body.start_date or "",
        end_date=body.end_date or "",
        filters={**body.filters, **segment_filters_to_json(segment)},
        created_at=caller.now,
        ticket=idempotency_digest(caller),
    ).enqueue()
    added = await exports.add_export_or_find_retried(export, MAX_ACTIVE)
    if added is None:
        raise TooManyRequests(
            f"{MAX_ACTIVE} exports are queued or running", "too_many_exports", headers={"Retry-After": "60"}
        )
    if added.id != export.id:
        return _queued_reply(added, settings, {"Idempotent-Replay": "true"})
    try:
        await jobs.wake_worker(export.id)
    except JobQueueUnavailable:
        await exports.delete_queued_export(export.id)
        raise ServiceUnavailable("The export queue cannot be reached", "queue_unavailable") from None
    return _queued_reply(export, settings)


@operation("GET /exports", tag="exports")
async def list_exports(query: ListQuery, *, caller: Caller, exports: Exports) -> ExportList:
    """Recent exports, newest first, without download links."""
    listed = await exports.list_exports(caller.workspace.id, query.limit)
    return ExportList(exports=[_export_job(export.state_at(caller.now)) for export in listed])


@operation("GET /exports/{exportId}", tag="exports")
async def get_export(
    path: ExportPath, *, caller: Caller, exports: Exports, storage: ExportStorage, settings: Settings
) -> ExportJob:
    """One export; a completed one comes with a fresh link that works for an hour.

    The link a program gets over OAuth ends earlier when its grant ends or may read totals only.
    """
    stored = await exports.find_export(path.exportId)
    if stored is None or stored.workspace_id != caller.workspace.id:
        raise NotFound
    export = stored.state_at(caller.now)
    if export.status is not ExportStatus.COMPLETED:
        return _export_job(export)
    grant = _grant_id_of_program(caller)
    try:
        # A URL of the storage itself could not end with the grant.
        url = None if grant else await storage.signed_url_if_supported(export.file_name, LINK_LIFETIME)
    except ExportStorageUnavailable:
        return _export_job(export, error=_LINK_FAILED)
    expires = int(caller.now.timestamp() + LINK_LIFETIME.total_seconds())
    bound = f"&grant={grant}" if grant else ""
    own = f"{settings.http.effective_api_url}/exports/download/{export.id}?expires={expires}{bound}&sig="
    link = DownloadLink(
        url=url or own + sign_download(caller.workspace.secret, export.id, expires, grant),
        expires_at=caller.now + LINK_LIFETIME,
        expires_in=int(LINK_LIFETIME.total_seconds()),
    )
    return _export_job(export, link)


@operation(
    "GET /exports/download/{exportId}",
    scope=None,
    rate_limit=RateLimitClass.NONE,
    prefix=RoutePrefix.ROOT,
    tag="exports",
    errors=(403, 503),
)
async def download_export(
    path: ExportPath,
    query: LinkQuery,
    *,
    exports: Exports,
    workspaces: WorkspaceCache,
    storage: ExportStorage,
    grants: OAuthGrants,
    clock: Clock,
) -> FileResponse:
    """The file behind a signed link; the link is the only credential it takes."""
    now = clock()
    export = await exports.find_export(path.exportId)
    workspace = await workspaces.find_by_id(export.workspace_id) if export else None
    secret = workspace.secret if workspace else _UNKNOWN_SECRET
    grant = query.grant or ""
    if not is_download_link_valid(
        secret, path.exportId, query.expires or "", query.sig or "", now, grant=grant
    ) or not await _grant_still_reads_exports(grants, workspace, grant):
        raise Forbidden("The link is not valid or has ended", "invalid_signature")
    if export is None or workspace is None or export.state_at(now).status is not ExportStatus.COMPLETED:
        raise NotFound
    stored = await storage.read(export.file_name)
    if stored is None:
        raise NotFound
    size, chunks = stored
    return FileResponse(
        export.download_name(workspace.zone),
        CSV_MEDIA_TYPE if export.format is ExportFormat.CSV else NDJSON_MEDIA_TYPE,
        size,
        chunks,
    )


def _grant_id_of_program(caller: Caller) -> str:
    """Returns the id of the grant of a program that asks over OAuth; empty for keys and people."""
    is_program = caller.acting_user is not None and caller.interface is RequestInterface.MCP
    return str(caller.credential.id) if is_program else ""


async def _grant_still_reads_exports(grants: OAuthGrants, workspace: Workspace | None, grant_id: str) -> bool:
    """Returns whether the grant of a link is active and holds `service:read`; a link without a grant depends on none."""
    if not grant_id or workspace is None:
        return not grant_id
    return any(
        str(grant.id) == grant_id and Scope.READ in grant.scopes
        for grant in await grants.list_active_grants(workspace.id)
    )


def _queued_reply(
    export: Export, settings: Settings, headers: Mapping[str, str] = MappingProxyType({})
) -> HandlerResponse[ExportQueued]:
    """Returns the response to a create request, also when an idempotent request is repeated."""
    facts = _common_fields(export) | {"status": ExportStatus.QUEUED}
    poll_url = f"{settings.http.effective_api_url}/v1/exports/{export.id}"
    return HandlerResponse(ExportQueued(**facts, poll_url=poll_url), 202, headers)


def _common_fields(export: Export) -> dict[str, Any]:
    return {
        "id": export.id,
        "status": export.status,
        "type": export.subject,
        "format": export.format,
        "created_at": export.created_at,
        "expires_at": export.expires_at,
        "params": ExportParams(
            start_date=export.start_date, end_date=export.end_date, filters=filters_as_sent(export.filters)
        ),
    }


def _export_job(export: Export, download: DownloadLink | None = None, error: str | None = None) -> ExportJob:
    return ExportJob(
        **_common_fields(export),
        row_count=export.row_count,
        truncated=export.truncated,
        error=export.error,
        started_at=export.started_at,
        completed_at=export.completed_at,
        download=download,
        download_error=error,
    )


OPERATIONS = (create_export, list_exports, get_export, download_export)
