"""An export job: what it was created with, and the states it walks through (contract 13).

The row of the job is the truth; a queue only wakes a worker. Every transition is a new value, saved by
compare-and-set, so of two workers that hold the same job one loses and touches nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from service_core.changes.idempotency import RECORD_LIFETIME
from service_core.kernel.date_range import parse_start_end_dates

MAX_ACTIVE: Final = 5
"""Queued or running exports of a workspace (contract 14)."""

FILE_LIFETIME: Final = timedelta(days=7)
MAX_QUEUE_TIME: Final = timedelta(hours=24)
MAX_RUN_TIME: Final = timedelta(minutes=30)
LEASE: Final = timedelta(seconds=15)
"""How long a worker holds a job without saying that it still works on it."""

MAX_ATTEMPTS: Final = 3
"""A job whose worker died this often is not tried again."""


class ExportType(StrEnum):
    """What an export holds: ``type`` on the wire."""

    EVENTS = "events"
    USERS = "users"
    ATTRIBUTION = "attribution"


class ExportFormat(StrEnum):
    """How an export is written."""

    CSV = "csv"
    NDJSON = "ndjson"


class ExportStatus(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"


ACTIVE_STATES: Final = frozenset({ExportStatus.QUEUED, ExportStatus.RUNNING})

TIMED_OUT: Final = "timed out"
SOURCE_UNAVAILABLE: Final = "source unavailable"
INTERNAL_ERROR: Final = "internal error"


@dataclass(frozen=True, slots=True)
class Export:
    """One export job.

    Attributes:
        credential_id: the key that asked for it.
        start_date, end_date, filters: as they were sent; the range is read at ``created_at``.
        attempt: how many workers have taken it.
        free_at: from when on a worker may take it: while it runs, the end of the lease; None once final.
        due_at: when its state ends by itself, whatever workers do; None for states that last.
        ticket: what a retry of the request repeats, if it asked to be performed once.
    """

    id: UUID
    workspace_id: UUID
    credential_id: UUID
    subject: ExportType
    format: ExportFormat
    start_date: str
    end_date: str
    created_at: datetime
    filters: Mapping[str, Any] = field(default_factory=dict)
    status: ExportStatus = ExportStatus.QUEUED
    attempt: int = 0
    free_at: datetime | None = None
    due_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    row_count: int | None = None
    truncated: bool = False
    error: str | None = None
    ticket: str | None = None

    @property
    def expires_at(self) -> datetime:
        """When the file is deleted."""
        return self.created_at + FILE_LIFETIME

    @property
    def retry_window_start(self) -> datetime:
        """Jobs of the same ticket created after this instant are the answer to a retry."""
        return self.created_at - RECORD_LIFETIME

    @property
    def file_name(self) -> str:
        """Name of the file of this attempt; no two attempts ever write to one file."""
        return self._file_name_of_attempt(self.attempt)

    @property
    def file_names(self) -> tuple[str, ...]:
        """Names of the files of every attempt so far."""
        return tuple(map(self._file_name_of_attempt, range(1, self.attempt + 1)))

    def download_name(self, zone: ZoneInfo) -> str:
        """``events-2026-07-01-2026-07-07.csv``: by the local days of the range."""
        asked = parse_start_end_dates(self.start_date, self.end_date, zone, self.created_at)
        return f"{self.subject}-{asked.first_day}-{asked.last_day}.{self.format}"

    def _file_name_of_attempt(self, attempt: int) -> str:
        return f"{self.id}-{attempt}.{self.format}"

    def enqueue(self) -> "Export":
        """The job as it is created."""
        return replace(self, free_at=self.created_at, due_at=self.created_at + MAX_QUEUE_TIME)

    def claim(self, now: datetime) -> "Export":
        """A worker has it; one that has failed its workers too often fails itself."""
        if self.attempt >= MAX_ATTEMPTS:
            return self.fail(now, INTERNAL_ERROR)
        started = self.started_at or now
        return replace(
            self,
            status=ExportStatus.RUNNING,
            attempt=self.attempt + 1,
            free_at=now + LEASE,
            due_at=started + MAX_RUN_TIME,
            started_at=started,
        )

    def renew_lease(self, now: datetime) -> "Export":
        """The worker says that it still works on it."""
        return replace(self, free_at=now + LEASE)

    def release(self, now: datetime) -> "Export":
        """The worker has to go and leaves it to the next; that is no failed attempt."""
        return replace(self, attempt=self.attempt - 1, free_at=now)

    def complete(self, now: datetime, row_count: int, *, truncated: bool) -> "Export":
        """The file is written."""
        return replace(
            self,
            status=ExportStatus.COMPLETED,
            free_at=None,
            due_at=self.expires_at,
            completed_at=now,
            row_count=row_count,
            truncated=truncated,
        )

    def fail(self, now: datetime, error: str) -> "Export":
        """There will be no file."""
        return replace(
            self, status=ExportStatus.FAILED, free_at=None, due_at=None, completed_at=now, error=error
        )

    def end(self) -> "Export":
        """What becomes of it when its state ends by itself, at the instant it does."""
        if self.status in ACTIVE_STATES and self.due_at is not None:
            return self.fail(self.due_at, TIMED_OUT)
        return replace(self, status=ExportStatus.EXPIRED, due_at=None)

    def state_at(self, now: datetime) -> "Export":
        """The job as it stands now, also when nobody has swept since its time was over."""
        return self.end() if self.due_at is not None and self.due_at <= now else self
