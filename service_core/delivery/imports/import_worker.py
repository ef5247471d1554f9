"""Runs import jobs: claims a job, checks or imports its file, saves the progress, and ends old jobs.

A worker holds a job by a lease that every batch renews. When it dies the lease ends and another worker goes on after
the last durable batch; a job that was cancelled meanwhile stops at its next batch.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Final

from service_core.delivery.exports.ports import ExportStorage, JobQueue, JobQueueUnavailable
from service_core.delivery.imports.models import (
    FILE_MISSING,
    INTERNAL_ERROR,
    ImportJob,
    ImportProgress,
    ImportStatus,
)
from service_core.delivery.imports.ports import ImportFileReader, ImportRefused, Imports
from service_core.kernel.clock import Clock

_MAX_WOKEN: Final = 20

_log: Final = logging.getLogger("touchpoint.imports")


class _JobLost(Exception):
    """The job was cancelled, or another worker has claimed it."""


class ImportWorker:
    """Runs import jobs one at a time; several workers may run in any number of processes.

    Args:
        jobs: the rows of the jobs.
        storage: has the uploaded files.
        reader: reads the files.
        clock: returns the current time.
    """

    def __init__(self, jobs: Imports, storage: ExportStorage, reader: ImportFileReader, clock: Clock) -> None:
        self._jobs = jobs
        self._storage = storage
        self._reader = reader
        self._clock = clock

    async def run_next_job(self) -> bool:
        """Runs the oldest claimable job to its end; returns False if there is none."""
        job = await self._claim_or_fail_next()
        if job is None:
            return False
        if job.is_final:
            await self._delete_file_or_log(job)
        else:
            await _ClaimedImport(self._jobs, self._storage, self._reader, self._clock, job).run()
        return True

    async def end_timed_out_imports(self) -> None:
        """Ends the jobs whose time is over, and deletes their files."""
        for job in await self._jobs.list_timed_out_imports(self._clock()):
            if job.status is ImportStatus.REMOVING:
                continue
            if await self._jobs.replace_import_if_unchanged(job, job.end_by_timeout()):
                await self._delete_file_or_log(job)

    async def wake_workers_for_available_imports(self, queue: JobQueue) -> None:
        """Wakes workers for all claimable jobs, in case the queue lost a message."""
        for job in await self._jobs.list_available_imports(self._clock(), _MAX_WOKEN):
            with suppress(JobQueueUnavailable):
                await queue.wake_worker(job.id)

    async def _claim_or_fail_next(self) -> ImportJob | None:
        while available := await self._jobs.list_available_imports(self._clock(), 1):
            claimed = available[0].claim_or_fail(self._clock())
            if await self._jobs.replace_import_if_unchanged(available[0], claimed):
                return claimed
        return None

    async def _delete_file_or_log(self, job: ImportJob) -> None:
        await delete_uploaded_file_or_log(self._storage, job)


class _ClaimedImport:
    """A job that this worker has claimed, with its current row."""

    def __init__(
        self, jobs: Imports, storage: ExportStorage, reader: ImportFileReader, clock: Clock, job: ImportJob
    ) -> None:
        self._jobs = jobs
        self._storage = storage
        self._reader = reader
        self._clock = clock
        self._job = job

    async def run(self) -> None:
        """Checks or imports the file, and saves the state that follows."""
        try:
            ended = await self._check_or_import_or_fail()
            await self._save(ended)
        except _JobLost:
            ended = await self._jobs.find_import(self._job.id) or self._job
        except asyncio.CancelledError:
            await self._jobs.replace_import_if_unchanged(self._job, self._job.release(self._clock()))
            raise
        if ended.is_final:
            await delete_uploaded_file_or_log(self._storage, self._job)

    async def _check_or_import_or_fail(self) -> ImportJob:
        """Returns the state that follows.

        Raises:
            _JobLost: the job is no longer this worker's.
        """
        try:
            return await self._check_or_import()
        except ImportRefused as refusal:
            return self._job.fail(self._clock(), refusal.message)
        except (_JobLost, asyncio.CancelledError):
            raise
        except Exception as fault:  # noqa: BLE001 - whatever it is, the job fails and the worker goes on
            # A message may hold a person's data: only the kind of a fault is kept.
            _log.error("import %s failed: %s", self._job.id, type(fault).__name__)
            return self._job.fail(self._clock(), INTERNAL_ERROR)

    async def _check_or_import(self) -> ImportJob:
        stored = await self._storage.read(self._job.stored_name)
        if stored is None:
            raise ImportRefused(FILE_MISSING)
        _, open_file = stored
        if self._job.status is ImportStatus.CHECKING:
            preview = await self._reader.check_file(self._job, open_file, self._save_progress)
            return self._job.become_ready(self._clock(), preview)
        await self._reader.import_file(self._job, open_file, self._save_progress)
        return self._job.complete(self._clock())

    async def _save_progress(self, progress: ImportProgress) -> None:
        await self._save(self._job.advance(self._clock(), progress))

    async def _save(self, after: ImportJob) -> None:
        if not await self._jobs.replace_import_if_unchanged(self._job, after):
            raise _JobLost
        self._job = after


async def delete_uploaded_file_or_log(storage: ExportStorage, job: ImportJob) -> None:
    """Deletes the uploaded file of a job; a file that stays is logged."""
    try:
        await storage.delete(job.stored_name)
    except Exception as fault:  # noqa: BLE001 - a file that stays is no reason to stop working
        _log.warning("file of import %s not deleted: %s", job.id, type(fault).__name__)
