"""Ports of exports: job rows, a queue that wakes workers, and file storage."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import BinaryIO, Protocol
from uuid import UUID

from service_core.delivery.exports.models import Export, ExportStatus
from service_core.kernel.file_response import ByteStreamOpener


class Exports(Protocol):
    """Export jobs as API requests read and write them; durable."""

    async def add_export_or_find_retried(self, export: Export, max_active: int) -> Export | None:
        """Adds a job; None if the workspace already has ``max_active`` queued or running ones.

        When a job of the same ``ticket`` was added in the 24 hours before, it is returned instead.
        """

    async def find_export(self, export_id: UUID) -> Export | None:
        """The job with this id, of whichever workspace."""

    async def list_exports(self, workspace_id: UUID, limit: int) -> list[Export]:
        """The latest jobs of a workspace, newest first."""

    async def delete_queued_export(self, export_id: UUID) -> None:
        """Remove a job that is still queued, as if it had never been asked for."""


class ExportJobs(Protocol):
    """Export jobs as workers read and write them."""

    async def list_available_exports(self, now: datetime, limit: int) -> list[Export]:
        """Returns the jobs that a worker may claim, because ``free_at`` has passed, oldest first."""

    async def replace_export_if_unchanged(self, before: Export, after: Export) -> bool:
        """Save the next state; False, and nothing saved, unless the row still stands as ``before``.

        Compared are status, attempt and ``free_at``.
        """

    async def list_timed_out_exports(self, now: datetime) -> list[Export]:
        """Returns the jobs whose ``due_at`` has passed: their state ends by timeout."""

    async def count_exports_by_status(self) -> dict[ExportStatus, int]:
        """How many jobs stand in each state; a state without any may be left out."""


class JobQueueUnavailable(Exception):
    """The queue cannot be reached and no worker was woken."""


class JobQueue(Protocol):
    """Wakes workers. It may lose messages, because workers also poll the job rows."""

    async def wake_worker(self, export_id: UUID) -> None:
        """Wakes a worker for a job; repeating it has no effect.

        Raises:
            JobQueueUnavailable: the queue cannot be reached.
        """

    async def run_worker(self, run_next_job: Callable[[], Awaitable[bool]], stop: asyncio.Event) -> None:
        """Runs jobs in this process until ``stop`` is set, when woken and at intervals.

        Args:
            run_next_job: does one job; False when there is none.
            stop: ends the work; the job in hand is given up by cancellation.

        A queue whose workers are processes of their own returns at once.
        """


class ExportStorageUnavailable(Exception):
    """The file storage cannot be reached."""


class ExportStorage(Protocol):
    """Stores finished files by name. A file is visible only when it is complete."""

    def open_for_write(self, name: str, download_name: str) -> AbstractAsyncContextManager[BinaryIO]:
        """Opens a new file; it is stored durably when the context ends.

        When the block raises nothing is kept. ``download_name`` is the name it has for who downloads it.
        """

    async def signed_url_if_supported(self, name: str, lifetime: timedelta) -> str | None:
        """Returns a download URL that is valid for this time; None if files are only readable through `read`.

        Raises:
            ExportStorageUnavailable: it cannot be signed at the moment.
        """

    async def read(self, name: str) -> tuple[int, ByteStreamOpener] | None:
        """Returns the size and a function that opens the content; None if the file does not exist."""

    async def delete(self, name: str) -> None:
        """Deletes the file and unfinished drafts of it; missing ones are ignored."""
