"""An import job: its file, its mapping, its counts and its state transitions.

The row of the job is the truth; a queue only wakes a worker. Every transition is a new value, saved by
compare-and-set, so of two workers that hold the same job one loses, and a cancelled job stops at its next batch.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from service_core.ingestion.imported_ids import FILE_OF_EVENTS, queue_id_of_imported_row

MAX_ACTIVE: Final = 5
"""Imports of a workspace that are neither completed, failed nor cancelled."""

UPLOAD_LIFETIME: Final = timedelta(hours=24)
"""How long a job waits for its file; also how long an upload link works."""

READY_LIFETIME: Final = timedelta(days=7)
"""How long a checked file waits to be imported."""

MAX_RUN_TIME: Final = timedelta(hours=24)
COMMAND_LIFETIME: Final = timedelta(hours=2)
"""How long a command may take for a batch; one that takes longer has died, and its import fails."""

LAST_BATCH_TIME: Final = timedelta(seconds=30)
"""How long a worker whose import was cancelled may still offer its last batch to the queue."""

LEASE: Final = timedelta(minutes=2)
"""Lifetime of a worker's lease of a job unless it is renewed, which every batch does."""

MAX_ATTEMPTS: Final = 3
"""A job whose worker died this often is not tried again."""

TIMED_OUT: Final = "timed out"
INTERNAL_ERROR: Final = "internal error"
FILE_MISSING: Final = "the uploaded file is missing"
MAX_LISTED: Final = 1_000
"""Imports of a workspace that are searched for one of the same file."""

ACCEPTED: Final = "queued"
"""Outcome of an entry that became an event."""


class ImportFormat(StrEnum):
    """Format of an uploaded file."""

    ACCESS_LOG = "access_log"
    SOURCE = "source"
    CSV = "csv"
    NDJSON = "ndjson"
    PARQUET = "parquet"


class ImportStatus(StrEnum):
    """State of an import job."""

    WAITING_FOR_FILE = "waiting_for_file"
    CHECKING = "checking"
    READY = "ready"
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REMOVING = "removing"
    REMOVED = "removed"


ENDED_STATES: Final = frozenset({ImportStatus.COMPLETED, ImportStatus.FAILED, ImportStatus.CANCELLED})
"""States in which nothing more comes in, and what came in can be removed."""

REMOVED_STATES: Final = frozenset({ImportStatus.REMOVING, ImportStatus.REMOVED})
FINAL_STATES: Final = ENDED_STATES | REMOVED_STATES
WORKER_STATES: Final = frozenset({ImportStatus.CHECKING, ImportStatus.QUEUED, ImportStatus.RUNNING})


@dataclass(frozen=True, slots=True)
class ImportMark:
    """What the events of an import carry.

    Attributes:
        import_id: the id of the import, as a property of each event.
        source: id of the import source, or `FILE_OF_EVENTS` for the formats that need none.
        generation: as `generation_of_start` returns it; it is part of the claimed ids, so that a file that was
            removed comes in again although the queue still knows the ids of its events.
    """

    import_id: UUID
    source: str
    generation: int = 0

    def claimed_id(self, row_id: str) -> str:
        """Returns the event id under which the queue claims a row."""
        return queue_id_of_imported_row(self.source, row_id, self.generation)


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import has come.

    Attributes:
        entry_count: lines or rows that are durable, over all attempts.
        read_bytes: bytes of the file that they take.
        counts: entries by outcome: ``queued`` for events, else why the entry became none.
        received_now: events that take the time of their receipt, since theirs is too old or cannot be read.
        sheet: the reconciliation sheet: entries by day and outcome.
    """

    entry_count: int = 0
    read_bytes: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    received_now: int = 0
    sheet: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportJob:
    """An import job and its state transitions.

    Attributes:
        credential_id: the key or person that created it.
        file_name: as the person calls it; never the name of a file on the server.
        upload_id: the latest upload that has begun; None before the first.
        site: of an access log: scheme and host its paths belong to.
        columns: column of the file -> field of the event, where the person chose one.
        attempt: how many uploads have begun, or how many workers have taken it since its latest start.
        free_at: from when on a worker may take it: while it runs, the end of the lease; None if none may.
        due_at: when its state ends by itself; None for states that last.
        digest: SHA-256 of the file.
        preview: what the file becomes; of an earlier mapping until it is checked again.
        source: id of the import source that reads the file; None for the formats that need none.
        generation: as in `ImportMark`.
        sheet: the reconciliation sheet: day, empty without one -> outcome -> entries.
        removed_events: events that its removal deleted.
    """

    id: UUID
    workspace_id: UUID
    credential_id: UUID
    format: ImportFormat
    file_name: str
    created_at: datetime
    site: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    status: ImportStatus = ImportStatus.WAITING_FOR_FILE
    attempt: int = 0
    free_at: datetime | None = None
    due_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    byte_count: int | None = None
    digest: str | None = None
    preview: Mapping[str, Any] | None = None
    entry_count: int = 0
    read_bytes: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    received_now: int = 0
    error: str | None = None
    upload_id: UUID | None = None
    source: str | None = None
    generation: int = 0
    sheet: Mapping[str, Any] = field(default_factory=dict)
    removed_events: int = 0

    @property
    def mark(self) -> ImportMark:
        """Returns what its events carry."""
        return ImportMark(self.id, self.source or FILE_OF_EVENTS, self.generation)

    @property
    def stored_name(self) -> str:
        """Returns the name of the uploaded file in the file storage, different for each upload."""
        return f"import-{self.id}" if self.upload_id is None else f"import-{self.id}-{self.upload_id}"

    @property
    def file_identity(self) -> tuple[str | None, str | None, ImportFormat]:
        """Returns digest, import source and format: two imports with the same ones bring in the same events."""
        return self.digest, self.source, self.format

    @property
    def is_final(self) -> bool:
        """Whether the job has ended."""
        return self.status in FINAL_STATES

    @property
    def is_run_by_command(self) -> bool:
        """Whether a command imports it, or began to and died."""
        return self.status is ImportStatus.RUNNING and self.upload_id is None

    def wait_for_file(self) -> "ImportJob":
        """Returns the job in its initial state."""
        return replace(self, due_at=self.created_at + UPLOAD_LIFETIME)

    def begin_upload(self, upload_id: UUID) -> "ImportJob":
        """Returns the job with an upload that replaces an earlier one, whether that still goes on or not."""
        return replace(self, upload_id=upload_id, attempt=self.attempt + 1)

    def begin_check(self, now: datetime, byte_count: int, digest: str) -> "ImportJob":
        """Returns the job with its file, to be checked by a worker."""
        uploaded = replace(self, byte_count=byte_count, digest=digest)
        return _offer_to_workers(uploaded, now, ImportStatus.CHECKING)

    def check_again(self, now: datetime, columns: Mapping[str, str]) -> "ImportJob":
        """Returns the job with another mapping, to be checked by a worker."""
        return _offer_to_workers(replace(self, columns=dict(columns)), now, ImportStatus.CHECKING)

    def start(self, now: datetime, generation: int) -> "ImportJob":
        """Returns the job queued for import, with its `generation_of_start`."""
        return _offer_to_workers(replace(self, generation=generation), now, ImportStatus.QUEUED)

    def claim_or_fail(self, now: datetime) -> "ImportJob":
        """Returns the job claimed by a worker, or failed after too many attempts."""
        if self.attempt >= MAX_ATTEMPTS:
            return self.fail(now, INTERNAL_ERROR)
        is_check = self.status is ImportStatus.CHECKING
        return replace(
            self,
            status=ImportStatus.CHECKING if is_check else ImportStatus.RUNNING,
            attempt=self.attempt + 1,
            free_at=now + LEASE,
            started_at=self.started_at if is_check else self.started_at or now,
        )

    def release(self, now: datetime) -> "ImportJob":
        """Returns the job put back by a worker that stops; the attempt does not count as failed."""
        return replace(self, attempt=self.attempt - 1, free_at=now)

    def become_ready(self, now: datetime, preview: Mapping[str, Any]) -> "ImportJob":
        """Returns the checked job, which waits until a person starts it."""
        return replace(
            self, status=ImportStatus.READY, free_at=None, due_at=now + READY_LIFETIME, preview=preview
        )

    def advance(self, now: datetime, progress: ImportProgress) -> "ImportJob":
        """Returns the job with what is durable now, and a renewed lease."""
        return replace(
            self,
            free_at=now + LEASE,
            entry_count=progress.entry_count,
            read_bytes=progress.read_bytes,
            counts=dict(progress.counts),
            received_now=progress.received_now,
            sheet=dict(progress.sheet),
        )

    def run_outside_of_workers(self, now: datetime) -> "ImportJob":
        """Returns the job running in a command, which no worker claims; it fails when the command has died."""
        return replace(
            self,
            status=ImportStatus.RUNNING,
            started_at=self.started_at or now,
            completed_at=None,
            due_at=now + COMMAND_LIFETIME,
        )

    def advance_in_command(self, now: datetime, progress: ImportProgress) -> "ImportJob":
        """Returns the job with what a command has made durable; without a lease, since no worker may claim it."""
        return replace(self.advance(now, progress), free_at=None, due_at=now + COMMAND_LIFETIME)

    def begin_removal(self, now: datetime) -> "ImportJob":
        """Returns the job whose events are to be removed; due at once unless a last batch may still come in."""
        has_ended_by_itself = self.status in {ImportStatus.COMPLETED, ImportStatus.FAILED}
        stopped_at = now if self.completed_at is None else self.completed_at
        due_at = now if has_ended_by_itself else max(now, stopped_at + LAST_BATCH_TIME)
        return replace(self, status=ImportStatus.REMOVING, due_at=due_at)

    def complete_removal(self, removed_events: int) -> "ImportJob":
        """Returns the job whose events are removed."""
        return replace(
            self,
            status=ImportStatus.REMOVED,
            due_at=None,
            removed_events=self.removed_events + removed_events,
        )

    def complete(self, now: datetime) -> "ImportJob":
        """Returns the completed job."""
        return self._end_dropping_sample_events(now, ImportStatus.COMPLETED)

    def fail(self, now: datetime, error: str) -> "ImportJob":
        """Returns the failed job; what is durable stays."""
        return self._end_dropping_sample_events(now, ImportStatus.FAILED, error)

    def cancel(self, now: datetime) -> "ImportJob":
        """Returns the cancelled job; what is durable stays."""
        return self._end_dropping_sample_events(now, ImportStatus.CANCELLED)

    def _end_dropping_sample_events(
        self, now: datetime, status: ImportStatus, error: str | None = None
    ) -> "ImportJob":
        """Returns the job in a final state, without the sample of its events: the file is deleted, too."""
        preview = None if self.preview is None else {**self.preview, "events": []}
        return replace(
            self, status=status, free_at=None, due_at=None, completed_at=now, error=error, preview=preview
        )

    def end_by_timeout(self) -> "ImportJob":
        """Returns the job in the state that follows when its current state times out."""
        now = self.due_at or self.created_at
        return self.fail(now, TIMED_OUT) if self.status in WORKER_STATES else self.cancel(now)

    def progress(self) -> ImportProgress:
        """Returns how far the import has come."""
        return ImportProgress(self.entry_count, self.read_bytes, self.counts, self.received_now, self.sheet)


def generation_of_start(job: ImportJob, others: Iterable[ImportJob]) -> int:
    """Returns the generation with which an import begins.

    A file that was imported and not removed keeps its generation, so that its events are duplicates. Otherwise it is
    the number of removed imports of the same format and source, which no removed import of the file had.

    Args:
        job: the import.
        others: the imports of its workspace.
    """
    present = removed = -1
    removed_count = 0
    for other in others:
        is_removed = other.status in REMOVED_STATES
        is_of_file = other.id != job.id and other.file_identity == job.file_identity
        removed_count += is_removed and (other.format, other.source) == (job.format, job.source)
        if is_of_file and is_removed:
            removed = max(removed, other.generation)
        elif is_of_file and other.entry_count:
            present = max(present, other.generation)
    return present if present > removed else removed_count


def _offer_to_workers(job: ImportJob, now: datetime, status: ImportStatus) -> ImportJob:
    return replace(job, status=status, attempt=0, free_at=now, due_at=now + MAX_RUN_TIME, error=None)
