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

from service_core.changes.once import KEPT
from service_core.kernel.date_range import between

MOST_ACTIVE: Final = 5
"""Queued or running exports of a workspace (contract 14)."""

LIFETIME: Final = timedelta(days=7)
LONGEST_WAIT: Final = timedelta(hours=24)
LONGEST_RUN: Final = timedelta(minutes=30)
LEASE: Final = timedelta(seconds=15)
"""How long a worker holds a job without saying that it still works on it."""

MOST_ATTEMPTS: Final = 3
"""A job whose worker died this often is not tried again."""


class Subject(StrEnum):
    """What an export holds: ``type`` on the wire."""

    EVENTS = "events"
    USERS = "users"
    ATTRIBUTION = "attribution"


class Format(StrEnum):
    """How an export is written."""

    CSV = "csv"
    NDJSON = "ndjson"


class Status(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"


ACTIVE: Final = frozenset({Status.QUEUED, Status.RUNNING})

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
    subject: Subject
    format: Format
    start_date: str
    end_date: str
    created_at: datetime
    filters: Mapping[str, Any] = field(default_factory=dict)
    status: Status = Status.QUEUED
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
        return self.created_at + LIFETIME

    @property
    def repeats_since(self) -> datetime:
        """Jobs of the same ticket created after this instant are the answer to a retry."""
        return self.created_at - KEPT

    @property
    def file(self) -> str:
        """Name of the file of this attempt; no two attempts ever write to one file."""
        return self._file(self.attempt)

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files of every attempt so far."""
        return tuple(map(self._file, range(1, self.attempt + 1)))

    def save_as(self, zone: ZoneInfo) -> str:
        """``events-2026-07-01-2026-07-07.csv``: by the local days of the range."""
        asked = between(self.start_date, self.end_date, zone, self.created_at)
        return f"{self.subject}-{asked.first_day}-{asked.last_day}.{self.format}"

    def _file(self, attempt: int) -> str:
        return f"{self.id}-{attempt}.{self.format}"

    def queued(self) -> "Export":
        """The job as it is created."""
        return replace(self, free_at=self.created_at, due_at=self.created_at + LONGEST_WAIT)

    def taken(self, now: datetime) -> "Export":
        """A worker has it; one that has failed its workers too often fails itself."""
        if self.attempt >= MOST_ATTEMPTS:
            return self.failed(now, INTERNAL_ERROR)
        started = self.started_at or now
        return replace(
            self,
            status=Status.RUNNING,
            attempt=self.attempt + 1,
            free_at=now + LEASE,
            due_at=started + LONGEST_RUN,
            started_at=started,
        )

    def held(self, now: datetime) -> "Export":
        """The worker says that it still works on it."""
        return replace(self, free_at=now + LEASE)

    def released(self, now: datetime) -> "Export":
        """The worker has to go and leaves it to the next; that is no failed attempt."""
        return replace(self, attempt=self.attempt - 1, free_at=now)

    def completed(self, now: datetime, row_count: int, *, truncated: bool) -> "Export":
        """The file is written."""
        return replace(
            self,
            status=Status.COMPLETED,
            free_at=None,
            due_at=self.expires_at,
            completed_at=now,
            row_count=row_count,
            truncated=truncated,
        )

    def failed(self, now: datetime, error: str) -> "Export":
        """There will be no file."""
        return replace(self, status=Status.FAILED, free_at=None, due_at=None, completed_at=now, error=error)

    def ended(self) -> "Export":
        """What becomes of it when its state ends by itself, at the instant it does."""
        if self.status in ACTIVE and self.due_at is not None:
            return self.failed(self.due_at, TIMED_OUT)
        return replace(self, status=Status.EXPIRED, due_at=None)

    def shown(self, now: datetime) -> "Export":
        """The job as it stands now, also when nobody has swept since its time was over."""
        return self.ended() if self.due_at is not None and self.due_at <= now else self
