"""`/imports`: create an import, upload its file, see what it becomes, start it, follow it, cancel it, remove it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit
from uuid import UUID

from service_core.access.models import Caller, Workspace
from service_core.analytics.measures import (
    Aggregation,
    FilterOperator,
    Predicate,
    Relation,
    property_column,
)
from service_core.analytics.ports import AggregateQuery, AggregateReader
from service_core.analytics.scope import scope_for_workspace_without_bots
from service_core.changes.write_requirements import refuse_program_whose_writes_are_held_back
from service_core.delivery.exports.ports import ExportStorage, JobQueue, JobQueueUnavailable
from service_core.delivery.imports.import_worker import delete_uploaded_file_or_log
from service_core.delivery.imports.models import (
    ACCEPTED,
    MAX_ACTIVE,
    MAX_LISTED,
    ImportFormat,
    ImportJob,
    ImportStatus,
    generation_of_start,
)
from service_core.delivery.imports.ports import Imports
from service_core.delivery.imports.removal import request_removal
from service_core.delivery.imports.schemas import (
    CreateImportRequest,
    ImportDay,
    ImportList,
    ImportListQuery,
    ImportPath,
    ImportPreview,
    ImportRemovalResource,
    ImportResource,
    ImportSourceResource,
    RemoveImportRequest,
    StartImportRequest,
    UploadLink,
)
from service_core.delivery.imports.upload import upload_path, wrong_status
from service_core.ingestion.body_fields import BODY_FIELDS, is_body_field
from service_core.ingestion.import_sources.ports import ImportSources
from service_core.ingestion.import_sources.reconciliation import reconciliation_lines_by_day
from service_core.ingestion.models import IMPORT_PROPERTY
from service_core.kernel.errors import NotFound, TooManyRequests, Unprocessable
from service_core.kernel.ids import new_id
from service_core.kernel.operations import HandlerResponse, RateLimitClass, Scope, operation
from service_core.kernel.settings import Settings
from service_core.kernel.time_ranges import TimeRange

_MAX_COLUMNS: Final = 500
_DUPLICATE: Final = "duplicate"
_ALL_TIME: Final = TimeRange(datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC))


@operation(
    "POST /imports",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    has_tool=False,
    tag="imports",
    statuses=(201,),
    starts_background_work=True,
)
async def create_import(
    body: CreateImportRequest,
    *,
    caller: Caller,
    imports: Imports,
    sources: ImportSources,
    settings: Settings,
) -> HandlerResponse[ImportResource]:
    """Create an import and get the link that takes its file.

    Send the file with `PUT` to `upload.url`; a worker then checks it, and the import is `ready` with its `preview`.
    `POST /imports/{importId}/start` brings the events in. Needs `service:write:rules`, since events that come in may be
    conversions. At most five imports of a workspace may be open.
    """
    _require_valid_columns(body.columns)
    _require_site_of_access_log(body)
    _require_installed_source(body, sources)
    job = ImportJob(
        id=new_id(),
        workspace_id=caller.workspace.id,
        credential_id=caller.credential.id,
        format=body.format,
        file_name=body.file_name.strip(),
        site=body.site,
        columns=body.columns,
        created_at=caller.now,
        source=body.source,
    ).wait_for_file()
    if not await imports.add_import_unless_too_many(job, MAX_ACTIVE):
        raise TooManyRequests(
            f"{MAX_ACTIVE} imports are open; finish or cancel one",
            "too_many_imports",
            headers={"Retry-After": "60"},
        )
    return HandlerResponse(_render_import(job, caller.workspace, settings), 201)


@operation("GET /imports", has_tool=False, tag="imports")
async def list_imports(
    query: ImportListQuery, *, caller: Caller, imports: Imports, sources: ImportSources, settings: Settings
) -> ImportList:
    """Recent imports with their counts, newest first, and the products whose files can be imported."""
    jobs = await imports.list_imports(caller.workspace.id, query.limit)
    infos = (source.info for source in sources.by_id.values())
    return ImportList(
        imports=[_render_import(job, caller.workspace, settings, caller) for job in jobs],
        sources=[
            ImportSourceResource(id=i.id, label=i.label, files=i.files, homepage=i.homepage) for i in infos
        ],
    )


@operation("GET /imports/{importId}", has_tool=False, tag="imports")
async def get_import(
    path: ImportPath, *, caller: Caller, imports: Imports, settings: Settings
) -> ImportResource:
    """One import: its state, progress, counts by reason, and its reconciliation sheet."""
    job = await _find_own_import(path.importId, caller, imports)
    days = [ImportDay(**line) for line in reconciliation_lines_by_day(job.sheet, ACCEPTED)]
    return _render_import(job, caller.workspace, settings, caller).model_copy(update={"days": days})


@operation(
    "POST /imports/{importId}/start",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    has_tool=False,
    tag="imports",
    statuses=(202,),
    errors=(409,),
    starts_background_work=True,
)
async def start_import(
    path: ImportPath,
    body: StartImportRequest,
    *,
    caller: Caller,
    imports: Imports,
    jobs: JobQueue,
    settings: Settings,
) -> HandlerResponse[ImportResource]:
    """Bring the events of a checked file in, or check it again with another mapping.

    With `dry_run`, the default, the file is checked with `columns`; without it, a `ready` import is queued.
    """
    job = await _find_own_import(path.importId, caller, imports)
    if job.status is not ImportStatus.READY:
        raise wrong_status(job)
    if not body.dry_run and body.columns is not None:
        raise Unprocessable(
            "Another mapping is checked first",
            "invalid_field",
            field="columns",
            hint="Send it with dry_run: true.",
        )
    if not body.dry_run:
        refuse_program_whose_writes_are_held_back(caller, Scope.WRITE_RULES)
    _require_valid_columns(body.columns or {})
    columns = job.columns if body.columns is None else body.columns
    if body.dry_run:
        after = job.check_again(caller.now, columns)
    else:
        others = await imports.list_imports(caller.workspace.id, MAX_LISTED)
        after = job.start(caller.now, generation_of_start(job, others))
    if not await imports.replace_import_if_unchanged(job, after):
        raise wrong_status(job)
    await _wake_worker_unless_unavailable(jobs, job.id)
    return HandlerResponse(_render_import(after, caller.workspace, settings, caller), 202)


@operation(
    "POST /imports/{importId}/cancel",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    has_tool=False,
    tag="imports",
    errors=(409,),
)
async def cancel_import(
    path: ImportPath, *, caller: Caller, imports: Imports, storage: ExportStorage, settings: Settings
) -> ImportResource:
    """Stop an import; events that are in stay, and the uploaded file is deleted."""
    for _ in range(3):  # a running import changes its row with each batch
        job = await _find_own_import(path.importId, caller, imports)
        if job.is_final:
            raise wrong_status(job)
        cancelled = job.cancel(caller.now)
        if await imports.replace_import_if_unchanged(job, cancelled):
            await delete_uploaded_file_or_log(storage, job)
            return _render_import(cancelled, caller.workspace, settings, caller)
    raise wrong_status(job)


@operation(
    "POST /imports/{importId}/remove",
    scope=Scope.WRITE_RULES,
    rate_limit=RateLimitClass.MUTATION,
    has_tool=False,
    tag="imports",
    statuses=(202,),
    errors=(409,),
    starts_background_work=True,
)
async def remove_import(
    path: ImportPath,
    body: RemoveImportRequest,
    *,
    caller: Caller,
    imports: Imports,
    events: AggregateReader,
) -> HandlerResponse[ImportRemovalResource]:
    """Remove everything that an ended import brought in, or count it.

    With `dry_run`, the default, nothing is removed. Otherwise the service removes the events within a minute, and
    answers are those of a workspace that never imported the file. The removal is in the audit log and cannot be undone;
    the file can be imported again.
    """
    await _find_own_import(path.importId, caller, imports)
    if not body.dry_run:
        refuse_program_whose_writes_are_held_back(caller, Scope.WRITE_RULES)
    count = await _count_stored_events(events, caller.workspace, path.importId)
    removal = await request_removal(imports, caller, path.importId, dry_run=body.dry_run)
    resource = ImportRemovalResource(dry_run=body.dry_run, events=count, status=removal.job.status)
    return HandlerResponse(resource, 202)


async def _count_stored_events(events: AggregateReader, workspace: Workspace, import_id: UUID) -> int:
    """Returns how many stored events an import brought in, those of bots included."""
    scope = replace(scope_for_workspace_without_bots(workspace, _ALL_TIME), include_bots=True)
    own = Predicate(property_column(IMPORT_PROPERTY), FilterOperator.EQ, str(import_id))
    result = await events.aggregate(AggregateQuery(scope, (Aggregation(Relation.EVENTS, where=(own,)),)))
    return int(result.rows[0][0]) if result.rows else 0


async def _find_own_import(import_id: UUID, caller: Caller, imports: Imports) -> ImportJob:
    job = await imports.find_import(import_id)
    if job is None or job.workspace_id != caller.workspace.id:
        raise NotFound
    return job


async def _wake_worker_unless_unavailable(jobs: JobQueue, import_id: UUID) -> None:
    """Wakes a worker; when the queue is unavailable, workers find the job when they look for jobs unasked."""
    try:
        await jobs.wake_worker(import_id)
    except JobQueueUnavailable:
        return


def _require_valid_columns(columns: Mapping[str, str]) -> None:
    if len(columns) > _MAX_COLUMNS:
        raise Unprocessable(f"At most {_MAX_COLUMNS} columns", "invalid_field", field="columns")
    for column, field in columns.items():
        if not column or not is_body_field(field):
            raise Unprocessable(
                f"{field or column} is no field of an event",
                "invalid_field",
                field="columns",
                hint=f"Fields are {', '.join(BODY_FIELDS)}, and names inside properties, context and external_ids.",
            )


def _require_site_of_access_log(body: CreateImportRequest) -> None:
    parts = urlsplit(body.site or "")
    if body.format is ImportFormat.ACCESS_LOG and (parts.scheme not in {"http", "https"} or not parts.netloc):
        raise Unprocessable(
            "An access log needs its site",
            "invalid_field",
            field="site",
            hint="Such as https://shop.example.",
        )


def _require_installed_source(body: CreateImportRequest, sources: ImportSources) -> None:
    is_read_by_source = body.format is ImportFormat.SOURCE
    if is_read_by_source != (body.source is not None) or (
        is_read_by_source and body.source not in sources.by_id
    ):
        raise Unprocessable(
            "The format source needs an installed import source, and only this format has one",
            "invalid_field",
            field="source",
            hint=f"Installed are {', '.join(sorted(sources.by_id)) or 'none'}.",
        )


def _render_import(
    job: ImportJob, workspace: Workspace, settings: Settings, reader: Caller | None = None
) -> ImportResource:
    """Returns the job as the API shows it.

    Args:
        job: the job.
        workspace: has the secret that the upload link is signed with.
        settings: have the address of the API.
        reader: gets the upload link only with the scope to import; None for who has just created the job.
    """
    may_upload = reader is None or Scope.WRITE_RULES in reader.credential.scopes
    upload = None
    if job.status is ImportStatus.WAITING_FOR_FILE and may_upload:
        url = settings.http.effective_api_url + upload_path(workspace.secret, job)
        upload = UploadLink(url=url, expires_at=job.due_at or job.created_at)
    others = {
        reason: count
        for reason, count in job.counts.items()
        if reason not in {ACCEPTED, _DUPLICATE} and count
    }
    return ImportResource(
        id=job.id,
        status=job.status,
        format=job.format,
        file_name=job.file_name,
        site=job.site,
        columns=dict(job.columns),
        created_at=job.created_at,
        started_at=job.started_at,
        completed_at=job.completed_at,
        byte_count=job.byte_count,
        read_bytes=job.read_bytes,
        entry_count=job.entry_count,
        accepted=job.counts.get(ACCEPTED, 0),
        duplicates=job.counts.get(_DUPLICATE, 0),
        left_out=others,
        received_now=job.received_now,
        error=job.error,
        preview=None if job.preview is None else ImportPreview(**job.preview),
        upload=upload,
        source=job.source,
        days=[],
        removed_events=job.removed_events,
    )


OPERATIONS = (create_import, list_imports, get_import, start_import, cancel_import, remove_import)
