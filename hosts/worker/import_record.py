"""The import job of a file that a command imports, beside the jobs of uploaded files."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hosts.data_import.checkpoint import ImportCheckpoint
from hosts.data_import.enqueue import EventImporter
from service_core.access.models import Credential
from service_core.delivery.imports.models import (
    MAX_LISTED,
    REMOVED_STATES,
    ImportFormat,
    ImportJob,
    ImportProgress,
    generation_of_start,
)
from service_core.delivery.imports.ports import Imports
from service_core.kernel.clock import Clock
from service_core.kernel.errors import StartupError
from service_core.kernel.ids import new_id


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """The file of a command.

    Attributes:
        digest: SHA-256 of its content.
        source: id of the import source that reads it; None for the formats that need none.
        byte_count: its size.
    """

    digest: str
    name: str = ""
    format: ImportFormat = ImportFormat.NDJSON
    source: str | None = None
    byte_count: int = 0


class ImportRecord:
    """Saves the progress of a file's import in its job. The job of a file is found again by the file's digest.

    Attributes:
        job: its current row.
        is_new: whether no earlier command has begun the file.
    """

    def __init__(self, imports: Imports, job: ImportJob, clock: Clock, *, is_new: bool) -> None:
        self._imports = imports
        self._clock = clock
        self.job = job
        self.is_new = is_new
        self._counts: Mapping[str, int] = job.counts
        self._received_now = job.received_now

    @classmethod
    async def open_or_create(
        cls, imports: Imports, file: ImportedFile, key: Credential, clock: Clock
    ) -> "ImportRecord":
        """Returns the record of a file in the workspace of a write key, marked as running."""
        jobs = await imports.list_imports(key.workspace_id, MAX_LISTED)
        known = next((job for job in jobs if _is_of_file(job, file)), None)
        job = known or _new_job(file, key, clock)
        if known is None:
            job = replace(job, generation=generation_of_start(job, jobs))
            await imports.add_import_unless_too_many(job, MAX_LISTED)
        record = cls(imports, job, clock, is_new=known is None)
        await record._replace_unless_cancelled(job.run_outside_of_workers(clock()))
        return record

    def checkpoint_name(self) -> str:
        """Returns the name of the checkpoint of this file; another one per import source, and after its removal."""
        name = f"{self.job.digest}:{self.job.workspace_id}"
        name += f":{self.job.source}" if self.job.source else ""
        return f"{name}:{self.job.generation}" if self.job.generation else name

    async def skip_known_entries(self, checkpoint: ImportCheckpoint) -> int:
        """Returns how many entries are durable already. Without a checkpoint the file begins again, and so do its counts."""
        if self.is_new:
            self.job = replace(self.job, entry_count=checkpoint.done_entries)
            return checkpoint.done_entries
        if checkpoint.done_entries:
            return self.job.entry_count
        self._counts, self._received_now = {}, 0
        await self._replace_unless_cancelled(self.job.advance_in_command(self._clock(), ImportProgress()))
        return 0

    async def save_batch(self, importer: EventImporter, entry_count: int, read_bytes: int) -> None:
        """Saves what is durable after a batch of entries."""
        job = self.job
        progress = ImportProgress(
            job.entry_count + entry_count,
            min(job.read_bytes + read_bytes, job.byte_count or 0),
            Counter(self._counts) + importer.outcomes,
            self._received_now + importer.received_now,
            importer.sheet,
        )
        await self._replace_unless_cancelled(job.advance_in_command(self._clock(), progress))

    async def complete(self) -> None:
        """Saves that the whole file is durable."""
        await self._replace_unless_cancelled(self.job.complete(self._clock()))

    async def fail(self, error: str) -> None:
        """Saves why the import stopped; the next run goes on from there."""
        await self._replace_unless_cancelled(self.job.fail(self._clock(), error))

    async def _replace_unless_cancelled(self, after: ImportJob) -> None:
        """Replaces the row.

        Raises:
            StartupError: somebody cancelled the import meanwhile.
        """
        if not await self._imports.replace_import_if_unchanged(self.job, after):
            raise StartupError("The import was cancelled, or another command imports the same file.")
        self.job = after


def _is_of_file(job: ImportJob, file: ImportedFile) -> bool:
    """Returns whether a job is that of an earlier command for the same file, and was not removed."""
    same = job.file_identity == (file.digest, file.source, file.format)
    return same and job.upload_id is None and job.status not in REMOVED_STATES


def _new_job(file: ImportedFile, key: Credential, clock: Clock) -> ImportJob:
    return ImportJob(
        id=new_id(),
        workspace_id=key.workspace_id,
        credential_id=key.id,
        format=file.format,
        file_name=file.name,
        created_at=clock(),
        digest=file.digest,
        byte_count=file.byte_count,
        source=file.source,
    )
