"""`/exports`: asking for a file, following the job, and the download of our own links (contract 6)."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final
from uuid import UUID

from pydantic import BaseModel, Field

from service_core.access.model import Caller
from service_core.access.workspaces import Workspaces
from service_core.changes.once import ticket_of
from service_core.delivery.exports.filters import check, question
from service_core.delivery.exports.model import MOST_ACTIVE, Export, Format, Status, Subject
from service_core.delivery.exports.ports import Exports, ExportSink, JobQueue, QueueDown, SinkDown
from service_core.delivery.exports.signing import is_signed, signature
from service_core.insight.attribution.model import Models
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Forbidden, NotFound, TooMany, Unavailable503
from service_core.kernel.files import CSV, NDJSON, File
from service_core.kernel.ids import new_id
from service_core.kernel.operations import Budget, Reply, Surface, operation
from service_core.kernel.params import Answer, BodyModel, Clamp, QueryModel
from service_core.kernel.settings import Settings

LINK_LASTS: Final = timedelta(hours=1)
_NO_LINK: Final = "The download link could not be made; poll again"
_NOBODY: Final = secrets.token_bytes(32)
"""Stands for the secret of an export that does not exist, so that guessing ids tells nothing."""


class NewExport(BodyModel):
    """What to export."""

    needed: ClassVar = ("start_date", "end_date")
    type: Subject
    format: Format = Format.CSV
    start_date: str | None = Field(None, description="Start, inclusive: a date or an instant.")
    end_date: str | None = Field(None, description="End, inclusive; at most 366 days.")
    filters: dict[str, Any] = Field(
        default_factory=dict, description="Filters of the read endpoint; each type has its own list."
    )


class ExportParams(Answer):
    """The range and filters an export was created with."""

    start_date: str
    end_date: str
    filters: dict[str, Any]


class _Export(Answer):
    """What every answer says of a job."""

    id: UUID
    status: Status
    type: Subject
    format: Format
    created_at: datetime
    expires_at: datetime
    params: ExportParams


class ExportQueued(_Export):
    """A job that waits for a worker."""

    poll_url: str


class Download(Answer):
    """A link to the file, made for this answer."""

    url: str
    expires_at: datetime
    expires_in: int


class ExportJob(_Export):
    """An export job."""

    row_count: int | None
    truncated: bool
    error: str | None
    started_at: datetime | None
    completed_at: datetime | None
    download: Download | None
    download_error: str | None


class ExportList(Answer):
    """Recent jobs, newest first."""

    exports: list[ExportJob]


class ListQuery(QueryModel):
    """Parameters of `GET /exports`."""

    limit: Annotated[int, Clamp(1, 100)] = 20


class ExportPath(BaseModel):
    """Which export."""

    exportId: UUID  # noqa: N815 - as in the path


class LinkQuery(QueryModel):
    """What a download link carries."""

    needed: ClassVar = ("expires", "sig")
    expires: str | None = Field(default=None, description="Unix time at which the link ends.")
    sig: str | None = Field(default=None, description="Signature of the link, in hex.")


@operation("POST /exports", tag="exports", statuses=(202,), starts_work=True, replays=True)
async def create_export(
    body: NewExport, *, who: Caller, exports: Exports, jobs: JobQueue, models: Models, settings: Settings
) -> Reply[ExportQueued]:
    """Ask for a file of events, persons or attribution.

    A worker writes it; poll `poll_url` until it is completed. At most five exports of a workspace are
    queued or running, a range covers 366 days, a file holds 1,000,000 rows (users 100,000).
    """
    query = question(body.type, body.start_date, body.end_date, body.filters)
    check(query, who, models)
    export = Export(
        id=new_id(),
        workspace_id=who.workspace.id,
        credential_id=who.credential.id,
        subject=body.type,
        format=body.format,
        start_date=body.start_date or "",
        end_date=body.end_date or "",
        filters=body.filters,
        created_at=who.now,
        ticket=ticket_of(who),
    ).queued()
    added = await exports.add_export(export, MOST_ACTIVE)
    if added is None:
        raise TooMany(
            f"{MOST_ACTIVE} exports are queued or running", "too_many_exports", headers={"Retry-After": "60"}
        )
    if added.id != export.id:
        return _queued(added, settings, {"Idempotent-Replay": "true"})
    try:
        await jobs.wake(export.id)
    except QueueDown:
        await exports.withdraw_export(export.id)
        raise Unavailable503("The export queue cannot be reached", "queue_unavailable") from None
    return _queued(export, settings)


@operation("GET /exports", tag="exports")
async def list_exports(query: ListQuery, *, who: Caller, exports: Exports) -> ExportList:
    """Recent exports, newest first, without download links."""
    found = await exports.exports(who.workspace.id, query.limit)
    return ExportList(exports=[_job(export.shown(who.now)) for export in found])


@operation("GET /exports/{exportId}", tag="exports")
async def get_export(
    path: ExportPath, *, who: Caller, exports: Exports, sink: ExportSink, settings: Settings
) -> ExportJob:
    """One export; a completed one comes with a fresh link that works for an hour."""
    found = await exports.export(path.exportId)
    if found is None or found.workspace_id != who.workspace.id:
        raise NotFound
    export = found.shown(who.now)
    if export.status is not Status.COMPLETED:
        return _job(export)
    try:
        url = await sink.url(export.file, LINK_LASTS)
    except SinkDown:
        return _job(export, error=_NO_LINK)
    expires = int(who.now.timestamp() + LINK_LASTS.total_seconds())
    own = f"{settings.http.public_url}/exports/download/{export.id}?expires={expires}&sig="
    link = Download(
        url=url or own + signature(who.workspace.secret, export.id, expires),
        expires_at=who.now + LINK_LASTS,
        expires_in=int(LINK_LASTS.total_seconds()),
    )
    return _job(export, link)


@operation(
    "GET /exports/download/{exportId}",
    scope=None,
    budget=Budget.NONE,
    surface=Surface.ROOT,
    tag="exports",
    errors=(403, 503),
)
async def download_export(
    path: ExportPath,
    query: LinkQuery,
    *,
    exports: Exports,
    workspaces: Workspaces,
    sink: ExportSink,
    clock: Clock,
) -> File:
    """The file behind a signed link; the link is the only credential it takes."""
    now = clock()
    export = await exports.export(path.exportId)
    workspace = await workspaces.find(export.workspace_id) if export else None
    secret = workspace.secret if workspace else _NOBODY
    if not is_signed(secret, path.exportId, query.expires or "", query.sig or "", now):
        raise Forbidden("The link is not valid or has ended", "invalid_signature")
    if export is None or workspace is None or export.shown(now).status is not Status.COMPLETED:
        raise NotFound
    stored = await sink.read(export.file)
    if stored is None:
        raise NotFound
    size, chunks = stored
    return File(export.save_as(workspace.zone), CSV if export.format is Format.CSV else NDJSON, size, chunks)


def _queued(
    export: Export, settings: Settings, headers: Mapping[str, str] = MappingProxyType({})
) -> Reply[ExportQueued]:
    """The answer to the request, also when it is given again and the job has gone on since."""
    facts = _common(export) | {"status": Status.QUEUED}
    poll_url = f"{settings.http.public_url}/v1/exports/{export.id}"
    return Reply(ExportQueued(**facts, poll_url=poll_url), 202, headers)


def _common(export: Export) -> dict[str, Any]:
    return {
        "id": export.id,
        "status": export.status,
        "type": export.subject,
        "format": export.format,
        "created_at": export.created_at,
        "expires_at": export.expires_at,
        "params": ExportParams(
            start_date=export.start_date, end_date=export.end_date, filters=dict(export.filters)
        ),
    }


def _job(export: Export, download: Download | None = None, error: str | None = None) -> ExportJob:
    return ExportJob(
        **_common(export),
        row_count=export.row_count,
        truncated=export.truncated,
        error=export.error,
        started_at=export.started_at,
        completed_at=export.completed_at,
        download=download,
        download_error=error,
    )


OPERATIONS = (create_export, list_exports, get_export, download_export)
