"""Ports of imports: job rows, and what reads a file and brings its events in."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from service_core.changes.audit_log import AuditEntry
from service_core.delivery.imports.models import ImportJob, ImportProgress
from service_core.kernel.file_response import ByteStreamOpener

SaveProgress = Callable[[ImportProgress], Awaitable[None]]
"""Saves how far an import has come; raises when the job is no longer the worker's."""


class Imports(Protocol):
    """Import jobs; durable."""

    async def add_import_unless_too_many(self, job: ImportJob, max_active: int) -> bool:
        """Adds a job; False if the workspace already has ``max_active`` that have not ended."""

    async def find_import(self, import_id: UUID) -> ImportJob | None:
        """The job with this id, of whichever workspace."""

    async def list_imports(self, workspace_id: UUID, limit: int) -> list[ImportJob]:
        """The latest jobs of a workspace, newest first."""

    async def replace_import_if_unchanged(
        self, before: ImportJob, after: ImportJob, audit_entry: AuditEntry | None = None
    ) -> bool:
        """Saves the next state; False, and nothing saved, unless the row still stands as ``before``.

        Compared are status, attempt and ``free_at``. A removed one changes `CredentialStore.change_version`, so that
        every process drops cached answers at once.

        Args:
            before: the state that the caller has read.
            after: the next state.
            audit_entry: is added in the same transaction.
        """

    async def list_available_imports(self, now: datetime, limit: int) -> list[ImportJob]:
        """Returns the jobs that a worker may claim, because ``free_at`` has passed, oldest first."""

    async def list_timed_out_imports(self, now: datetime) -> list[ImportJob]:
        """Returns the jobs whose ``due_at`` has passed: their state ends by timeout."""


class ImportRefused(Exception):
    """The file cannot be imported as it is.

    Args:
        message: why, and what to do; shown to the person.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ImportFileReader(Protocol):
    """Reads an uploaded file; holds one batch of its entries at a time."""

    async def check_file(
        self, job: ImportJob, open_file: ByteStreamOpener, save: SaveProgress
    ) -> Mapping[str, Any]:
        """Returns what the file becomes: ``is_export``, ``columns``, ``unused``, ``events`` and ``counts``.

        Args:
            job: the job, in its state when it was claimed.
            open_file: opens the uploaded file.
            save: renews the lease of the job.

        Raises:
            ImportRefused: the file is of another format, or its mapping names a column it does not have.
        """

    async def import_file(self, job: ImportJob, open_file: ByteStreamOpener, save: SaveProgress) -> None:
        """Brings the events in after those that are durable already, and saves the progress after each batch.

        Raises:
            ImportRefused: the file cannot be read to its end.
        """


class ImportFileSearch(Protocol):
    """Searches an uploaded file."""

    async def find_first_wanted_entries(
        self, job: ImportJob, open_file: ByteStreamOpener, is_wanted: Callable[[Any], bool], limit: int
    ) -> list[Any]:
        """Returns the first entries that a function picks: rows with all columns, or lines, as JSON values or text.

        Raises:
            ImportRefused: the file cannot be read to its end.
        """
