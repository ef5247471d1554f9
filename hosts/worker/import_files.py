"""Reads uploaded files for import jobs, with the readers of `touchpoint import`."""

import asyncio
import time
import zlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hosts.data_import.access_logs import read_access_log_with_skipped_lines
from hosts.data_import.column_mapping import ColumnMapping, map_columns
from hosts.data_import.enqueue import EventImporter
from hosts.data_import.event_files import read_event_file_by_suffix, read_header
from hosts.data_import.source_files import open_source_file
from hosts.worker.import_dry_run import outcome_without_import
from hosts.worker.run_import import find_active_write_key_of_workspace
from service_core.access.ports import CredentialStore
from service_core.delivery.imports.models import ImportFormat, ImportJob, ImportProgress
from service_core.delivery.imports.ports import ImportRefused, SaveProgress
from service_core.ingestion.import_sources.models import ImportEntry
from service_core.ingestion.import_sources.ports import ImportSource
from service_core.ingestion.import_sources.read_source import read_source_with_row_ids
from service_core.ingestion.ports import EnqueueFailed, IngestQueue
from service_core.kernel.clock import Clock
from service_core.kernel.errors import StartupError
from service_core.kernel.file_response import ByteStreamOpener

CHECKED_ENTRIES: Final = 1_000
"""Lines or rows that a check reads."""

SAMPLE_EVENTS: Final = 5
RENEWAL_SECONDS: Final = 30.0
"""How often a worker renews its lease of a job while it copies the file."""

SKIPPED_AT_ONCE: Final = 100_000
"""Durable entries that are read over before a worker renews its lease."""

_UNREADABLE: Final = (EOFError, OSError, zlib.error)
_GZIP_MAGIC: Final = b"\x1f\x8b"
_SUFFIXES: Final[Mapping[ImportFormat, str]] = {
    ImportFormat.ACCESS_LOG: ".log",
    ImportFormat.CSV: ".csv",
    ImportFormat.NDJSON: ".ndjson",
    ImportFormat.PARQUET: ".parquet",
    ImportFormat.SOURCE: "",
}


class UploadedFiles:
    """Implements the port `ImportFileReader`.

    A file is copied from the storage to a private folder, since the readers take paths.

    Args:
        queue: where events go, the same as those of `/track`.
        credentials: have the write key that the ledger counts the import under.
        clock: receipt time of every entry.
        sources: import sources by id.
    """

    def __init__(
        self,
        queue: IngestQueue,
        credentials: CredentialStore,
        clock: Clock,
        sources: Mapping[str, ImportSource],
    ) -> None:
        self._queue = queue
        self._sources = sources
        self._credentials = credentials
        self._clock = clock

    async def check_file(
        self, job: ImportJob, open_file: ByteStreamOpener, save: SaveProgress
    ) -> Mapping[str, Any]:
        """Returns mapping, unused columns, first events and outcomes of the first entries."""
        async with _private_copy_renewing_lease(job, open_file, save) as path:
            return await asyncio.to_thread(self._preview_file, job, path)

    async def import_file(self, job: ImportJob, open_file: ByteStreamOpener, save: SaveProgress) -> None:
        """Enqueues the entries after those that are durable, in batches."""
        key = await find_active_write_key_of_workspace(self._credentials, job.workspace_id)
        if key is None:
            raise ImportRefused("The workspace has no write key. Create one under Settings > API keys.")
        importer = EventImporter(self._queue, key, self._clock, mark=job.mark, sheet=job.sheet)
        before, read_bytes, entry_count = Counter(job.counts), job.read_bytes, job.entry_count

        async def save_batch(batch: list[ImportEntry]) -> None:
            nonlocal read_bytes, entry_count
            read_bytes = min(read_bytes + sum(entry.byte_count for entry in batch), job.byte_count or 0)
            entry_count += len(batch)
            counts = before + importer.outcomes
            await save(
                ImportProgress(
                    entry_count, read_bytes, counts, job.received_now + importer.received_now, importer.sheet
                )
            )

        async with _private_copy_renewing_lease(job, open_file, save) as path:
            entries = self._iterate_entries_or_refuse(job, path)
            await _skip_durable_entries_renewing_lease(entries, job, save)
            try:
                await importer.enqueue_in_batches(entries, save_batch)
            except EnqueueFailed:
                raise ImportRefused("The queue takes no more events. Import the file again later.") from None

    def _iterate_entries_or_refuse(self, job: ImportJob, path: Path) -> Iterator[ImportEntry]:
        """Yields all entries of a file, mapped.

        Raises:
            ImportRefused: the file cannot be read.
        """
        with _refuse_unreadable():
            yield from self._read_entries(job, path)

    def _read_entries(self, job: ImportJob, path: Path) -> Iterable[ImportEntry]:
        """Returns all entries of a file, mapped.

        Raises:
            ImportRefused: the plugin of its import source is not installed any more.
        """
        if job.format is ImportFormat.ACCESS_LOG:
            return read_access_log_with_skipped_lines(path, job.site or "")
        if job.format is ImportFormat.SOURCE:
            source = self._sources.get(job.source or "")
            if source is None:
                raise ImportRefused(f"The import source {job.source} is not installed.")
            return read_source_with_row_ids(source, open_source_file(path), job.digest or "")
        return map(_map_file_columns(job, path).to_entry, read_event_file_by_suffix(path, job.digest or ""))

    def _preview_file(self, job: ImportJob, path: Path) -> Mapping[str, Any]:
        """Returns the preview of a file as the API shows it.

        Raises:
            ImportRefused: the file cannot be read.
        """
        with _refuse_unreadable():
            has_columns = job.format not in {ImportFormat.ACCESS_LOG, ImportFormat.SOURCE}
            mapping = _map_file_columns(job, path) if has_columns else ColumnMapping()
            checked = list(islice(self._read_entries(job, path), CHECKED_ENTRIES))
        events = [dict(entry.body) for entry in checked if entry.body is not None]
        return {
            "is_export": mapping.is_export,
            "columns": [{"column": column, "field": target} for column, target in mapping.targets],
            "unused": list(mapping.unused),
            "events": events[:SAMPLE_EVENTS],
            "counts": dict(Counter(map(outcome_without_import, checked))),
        }


@asynccontextmanager
async def _private_copy_renewing_lease(
    job: ImportJob, open_file: ByteStreamOpener, save: SaveProgress
) -> AsyncGenerator[Path, None]:
    """Gives the path of a copy of the uploaded file, which is deleted at the end."""
    renewed_at = time.monotonic()
    with TemporaryDirectory(prefix="touchpoint-import-") as folder:
        path = Path(folder) / f"upload{_SUFFIXES[job.format]}"
        start = b""
        with path.open("wb") as copy:
            async for chunk in open_file():
                start = (start + chunk[: len(_GZIP_MAGIC)])[: len(_GZIP_MAGIC)]
                await asyncio.to_thread(copy.write, chunk)
                if time.monotonic() - renewed_at >= RENEWAL_SECONDS:
                    await save(job.progress())
                    renewed_at = time.monotonic()
        await save(job.progress())
        if start == _GZIP_MAGIC and job.format is ImportFormat.ACCESS_LOG:
            path = path.rename(path.with_name(f"{path.name}.gz"))
        yield path


async def _skip_durable_entries_renewing_lease(
    entries: Iterator[ImportEntry], job: ImportJob, save: SaveProgress
) -> None:
    for start in range(0, job.entry_count, SKIPPED_AT_ONCE):
        count = min(SKIPPED_AT_ONCE, job.entry_count - start)
        await asyncio.to_thread(_skip_entries, entries, count)
        await save(job.progress())


@contextmanager
def _refuse_unreadable() -> Iterator[None]:
    """Turns errors of a reader into a refusal.

    Raises:
        ImportRefused: the file cannot be read.
    """
    try:
        yield
    except StartupError as fault:
        raise ImportRefused(str(fault)) from None
    except _UNREADABLE as fault:
        raise ImportRefused(f"The file cannot be read: {type(fault).__name__}.") from None


def _skip_entries(entries: Iterable[ImportEntry], count: int) -> None:
    for _ in islice(entries, count):
        pass


def _map_file_columns(job: ImportJob, path: Path) -> ColumnMapping:
    return map_columns(read_event_file_by_suffix(path, ""), job.columns, read_header(path))
