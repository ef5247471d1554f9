"""Runs export jobs: claims a job, writes its file, saves the result, and expires old jobs.

A worker holds a job by a lease that it renews while it writes. When it dies the lease ends and another
worker takes the job; when it only slept, it finds its lease gone and its file is thrown away.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from service_core.delivery.exports.export_writer import ExportWriter
from service_core.delivery.exports.models import (
    INTERNAL_ERROR,
    LEASE,
    SOURCE_UNAVAILABLE,
    TIMED_OUT,
    Export,
    ExportStatus,
)
from service_core.delivery.exports.ports import ExportJobs, ExportStorage, JobQueue, JobQueueUnavailable
from service_core.kernel.clock import Clock
from service_core.kernel.errors import ServiceUnavailable, Unprocessable

RENEW_SECONDS: Final = LEASE.total_seconds() / 3
_MAX_WOKEN: Final = 20

_log: Final = logging.getLogger("touchpoint.exports")


class _LeaseLost(Exception):
    """Another worker has claimed the job, or its time is over."""


@dataclass(slots=True)
class _ClaimedJob:
    """A job this worker has claimed, with its current row."""

    export: Export


class ExportWorker:
    """Runs export jobs one at a time; several workers may run in any number of processes.

    Args:
        jobs: the rows of the jobs.
        storage: stores the files.
        writer: writes the files.
        clock: returns the current time.
        renew_seconds: how often the lease is renewed.
    """

    def __init__(
        self,
        jobs: ExportJobs,
        storage: ExportStorage,
        writer: ExportWriter,
        clock: Clock,
        *,
        renew_seconds: float = RENEW_SECONDS,
    ) -> None:
        self._work = jobs
        self._storage = storage
        self._writer = writer
        self._clock = clock
        self._renew_seconds = renew_seconds

    async def run_next_job(self) -> bool:
        """Runs the oldest claimable job to its end; returns False if there is none."""
        export = await self._claim_or_fail_next()
        if export is None:
            return False
        if export.status is ExportStatus.RUNNING:
            await self._write_and_save_claimed_job(_ClaimedJob(export))
        else:
            await self._delete_files_or_log(export.file_names)
        return True

    async def expire_due_exports(self) -> None:
        """Ends jobs and deletes files whose time is over."""
        for export in await self._work.list_timed_out_exports(self._clock()):
            ended = export.end_by_timeout()
            if ended.status is ExportStatus.EXPIRED:
                await self._delete_files_or_log(
                    export.file_names
                )  # before the row says so: a crash between repeats it
            if (
                await self._work.replace_export_if_unchanged(export, ended)
                and ended.status is ExportStatus.FAILED
            ):
                await self._delete_files_or_log(export.file_names)

    async def wake_workers_for_available_exports(self, queue: JobQueue) -> None:
        """Wakes workers for all claimable jobs, in case the queue lost a message."""
        for export in await self._work.list_available_exports(self._clock(), _MAX_WOKEN):
            with suppress(JobQueueUnavailable):
                await queue.wake_worker(export.id)

    async def _claim_or_fail_next(self) -> Export | None:
        """Claims a job; returns None if there is none. A job with too many failed attempts is failed."""
        while available := await self._work.list_available_exports(self._clock(), 1):
            claimed = available[0].claim_or_fail(self._clock())
            if await self._work.replace_export_if_unchanged(available[0], claimed):
                return claimed
        return None

    async def _write_and_save_claimed_job(self, job: _ClaimedJob) -> None:
        file = job.export.file_name
        try:
            ended = await self._write_file_while_renewing_lease(job)
        except _LeaseLost:
            await self._delete_files_or_log((file,))
            return
        except asyncio.CancelledError:
            await self._work.replace_export_if_unchanged(job.export, job.export.release(self._clock()))
            raise
        saved = await self._work.replace_export_if_unchanged(job.export, ended)
        files_to_keep = {file} if saved and ended.status is ExportStatus.COMPLETED else set()
        await self._delete_files_or_log(
            tuple(name for name in job.export.file_names if name not in files_to_keep)
        )

    async def _write_file_while_renewing_lease(self, job: _ClaimedJob) -> Export:
        """Writes the file and renews the lease meanwhile.

        Raises:
            _LeaseLost: another worker holds the job.
        """
        writing = asyncio.create_task(self._write_file_or_fail_job(job))
        holding = asyncio.create_task(self._renew_lease_until_lost(job))
        try:
            await asyncio.wait({writing, holding}, return_when=asyncio.FIRST_COMPLETED)
            if holding.done() and not writing.done():
                raise _LeaseLost
            return await writing
        finally:
            for task in (writing, holding):
                task.cancel()
            await asyncio.wait({writing, holding})

    async def _renew_lease_until_lost(self, job: _ClaimedJob) -> None:
        """Renews the lease until it is lost; retries while the store is unavailable."""
        while True:
            await asyncio.sleep(self._renew_seconds)
            renewed = job.export.renew_lease(self._clock())
            try:
                if not await self._work.replace_export_if_unchanged(job.export, renewed):
                    return
            except Exception as fault:  # noqa: BLE001 - whatever the store raised, the next try may succeed
                _log.warning("lease of export %s not renewed: %s", job.export.id, type(fault).__name__)
            else:
                job.export = renewed

    async def _write_file_or_fail_job(self, job: _ClaimedJob) -> Export:
        """Writes the file; returns the completed or failed job."""
        export = job.export
        left = (export.due_at or self._clock()) - self._clock()
        try:
            async with asyncio.timeout(left.total_seconds()):
                written = await self._writer.write_file_of_export(export)
        except TimeoutError:
            failed, fault = TIMED_OUT, "-"
        except ServiceUnavailable as away:
            failed, fault = SOURCE_UNAVAILABLE, type(away).__name__
        except Unprocessable as refusal:
            failed, fault = refusal.message, "-"
        except Exception as other:  # noqa: BLE001 - whatever it is, the job fails and the worker goes on
            failed, fault = INTERNAL_ERROR, type(other).__name__
        else:
            return job.export.complete(self._clock(), written.row_count, truncated=written.is_truncated)
        # A message may hold a person's data: only the kind of a fault is kept.
        _log.error("export %s failed: %s (%s)", export.id, failed, fault)
        return job.export.fail(self._clock(), failed)

    async def _delete_files_or_log(self, file_names: tuple[str, ...]) -> None:
        for name in file_names:
            try:
                await self._storage.delete(name)
            except Exception as fault:  # noqa: BLE001 - a file that stays is no reason to stop working
                _log.warning("file %s not deleted: %s", name, type(fault).__name__)
