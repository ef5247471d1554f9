"""Removes what an import brought in: a request that is audited, and the deletion once its events are stored."""

from typing import Final, NamedTuple
from uuid import UUID

from service_core.access.models import Caller
from service_core.analytics.freshness import QueueStateReader
from service_core.changes.actor import build_named_actor
from service_core.changes.audit_log import IMPORT_TYPE, AuditEntry
from service_core.changes.models import Action, ResourceRef
from service_core.delivery.imports.models import (
    ACCEPTED,
    ENDED_STATES,
    REMOVED_STATES,
    ImportJob,
    ImportStatus,
)
from service_core.delivery.imports.ports import Imports
from service_core.delivery.imports.upload import wrong_status
from service_core.ingestion.ports import ImportedEventStore
from service_core.kernel.clock import Clock
from service_core.kernel.errors import NotFound
from service_core.kernel.ids import new_id

_ATTEMPTS: Final = 3


class PlannedRemoval(NamedTuple):
    """A removal that is requested, or only planned: the import, and how many rows it had brought in."""

    job: ImportJob
    accepted: int


async def request_removal(
    imports: Imports, caller: Caller, import_id: UUID, *, dry_run: bool
) -> PlannedRemoval:
    """Requests the removal of an ended import, and audits the request; a second request changes nothing.

    Args:
        imports: the rows of the jobs.
        caller: who removes it; its workspace has the import.
        import_id: which import.
        dry_run: request nothing.

    Raises:
        NotFound: the workspace has no such import.
        Conflict: ``wrong_import_status``, while events still come in.
    """
    for _ in range(_ATTEMPTS):
        job = await _find_own_import(imports, caller, import_id)
        planned = PlannedRemoval(job, job.counts.get(ACCEPTED, 0))
        if job.status in REMOVED_STATES:
            return planned
        if job.status not in ENDED_STATES and not job.is_run_by_command:
            raise wrong_status(job)
        if dry_run:
            return planned
        removing = job.begin_removal(caller.now)
        entry = _build_audit_entry(caller, removing)
        if await imports.replace_import_if_unchanged(job, removing, entry):
            return planned._replace(job=removing)
    raise wrong_status(await _find_own_import(imports, caller, import_id))


async def _find_own_import(imports: Imports, caller: Caller, import_id: UUID) -> ImportJob:
    job = await imports.find_import(import_id)
    if job is None or job.workspace_id != caller.workspace.id:
        raise NotFound
    return job


def _build_audit_entry(caller: Caller, job: ImportJob) -> AuditEntry:
    return AuditEntry(
        id=new_id(),
        action=Action.DELETE,
        resource=ResourceRef(type=IMPORT_TYPE, id=job.id, label=job.file_name or job.format.value),
        actor=build_named_actor(caller),
        via=caller.interface,
        prior_state={
            "source": job.source,
            "file_name": job.file_name,
            "digest": job.digest,
            "accepted": job.counts.get(ACCEPTED, 0),
        },
        new_state=None,
        changes=[],
        effects=[],
        undo_of=None,
        created_at=caller.now,
    )


class ImportRemoval:
    """Deletes the events of imports whose removal is requested. A removal that was interrupted is repeated as a whole."""

    def __init__(
        self, *, imports: Imports, store: ImportedEventStore, queue: QueueStateReader, clock: Clock
    ) -> None:
        self._imports = imports
        self._store = store
        self._queue = queue
        self._clock = clock

    async def complete_requested_removals(self) -> list[ImportJob]:
        """Removes what is requested, except imports whose events may still wait in the queue; returns what is removed."""
        removed = []
        for job in await self._imports.list_timed_out_imports(self._clock()):
            if job.status is not ImportStatus.REMOVING or await self._may_have_events_in_queue(job):
                continue
            count = await self._store.delete_imported_events(job.workspace_id, job.id)
            after = job.complete_removal(count)
            if await self._imports.replace_import_if_unchanged(job, after):
                removed.append(after)
        return removed

    async def _may_have_events_in_queue(self, job: ImportJob) -> bool:
        oldest = (await self._queue.state()).oldest_received_at
        return oldest is not None and job.due_at is not None and oldest <= job.due_at
