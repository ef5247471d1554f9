"""An export job: its parameters and its state transitions.

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
from service_core.kernel.date_range import parse_inclusive_start_end_dates

MAX_ACTIVE: Final = 5
"""Queued or running exports of a workspace."""

FILE_LIFETIME: Final = timedelta(days=7)
MAX_QUEUE_TIME: Final = timedelta(hours=24)
MAX_RUN_TIME: Final = timedelta(minutes=30)
LEASE: Final = timedelta(seconds=15)
"""Lifetime of a worker's lease of a job unless it is renewed."""

MAX_ATTEMPTS: Final = 3
"""A job whose worker died this often is not tried again."""


class ExportType(StrEnum):
    """Content of an export: ``type`` in the API."""

    EVENTS = "events"
    USERS = "users"
    ATTRIBUTION = "attribution"


class ExportFormat(StrEnum):
    """File format of an export."""

    CSV = "csv"
    NDJSON = "ndjson"


class ExportStatus(StrEnum):
    """State of an export job."""

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
    """An export job and its state transitions.

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
        """Returns when the file is deleted."""
        return self.created_at + FILE_LIFETIME

    @property
    def retry_window_start(self) -> datetime:
        """Returns the earliest creation time of a job that answers a retry of the same request."""
        return self.created_at - RECORD_LIFETIME

    @property
    def file_name(self) -> str:
        """Returns the file name of the current attempt; each attempt has its own."""
        return self._file_name_of_attempt(self.attempt)

    @property
    def file_names(self) -> tuple[str, ...]:
        """Returns the file names of all attempts so far."""
        return tuple(map(self._file_name_of_attempt, range(1, self.attempt + 1)))

    def download_name(self, zone: ZoneInfo) -> str:
        """``events-2026-07-01-2026-07-07.csv``: by the local days of the range."""
        date_range = parse_inclusive_start_end_dates(self.start_date, self.end_date, zone, self.created_at)
        return f"{self.subject}-{date_range.first_day}-{date_range.last_day}.{self.format}"

    def _file_name_of_attempt(self, attempt: int) -> str:
        return f"{self.id}-{attempt}.{self.format}"

    def enqueue(self) -> "Export":
        """Returns the job in its initial state."""
        return replace(self, free_at=self.created_at, due_at=self.created_at + MAX_QUEUE_TIME)

    def claim_or_fail(self, now: datetime) -> "Export":
        """Returns the job claimed by a worker, or failed after too many attempts."""
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
        """Returns the job with a renewed lease."""
        return replace(self, free_at=now + LEASE)

    def release(self, now: datetime) -> "Export":
        """Returns the job put back into the queue by a worker that stops; the attempt does not count as failed."""
        return replace(self, attempt=self.attempt - 1, free_at=now)

    def complete(self, now: datetime, row_count: int, *, truncated: bool) -> "Export":
        """Returns the completed job."""
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
        """Returns the failed job."""
        return replace(
            self, status=ExportStatus.FAILED, free_at=None, due_at=None, completed_at=now, error=error
        )

    def end_by_timeout(self) -> "Export":
        """Returns the job in the state that follows when its current state times out."""
        if self.status in ACTIVE_STATES and self.due_at is not None:
            return self.fail(self.due_at, TIMED_OUT)
        return replace(self, status=ExportStatus.EXPIRED, due_at=None)

    def state_at(self, now: datetime) -> "Export":
        """Returns the job as it is at a time, even if no worker has updated it since."""
        return self.end_by_timeout() if self.due_at is not None and self.due_at <= now else self
