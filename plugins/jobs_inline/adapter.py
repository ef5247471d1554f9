"""Runs export jobs as tasks of the serving process; their heavy part runs in threads."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final
from uuid import UUID

from plugins.jobs_inline.settings import InlineSettings

_log: Final = logging.getLogger("touchpoint.jobs")

ExportWork = Callable[[], Awaitable[bool]]


class InlineJobs:
    """Implements the job queue within one process.

    It keeps nothing: what has to be done stands in the rows of the jobs, so a restart forgets no job.
    """

    def __init__(self, settings: InlineSettings) -> None:
        self._settings = settings
        self._woken = asyncio.Event()

    async def wake_worker(self, export_id: UUID) -> None:  # noqa: ARG002 - a worker takes the oldest job, whichever was announced
        """Wakes the workers."""
        self._woken.set()

    async def run_worker(self, run_next_job: ExportWork, stop: asyncio.Event) -> None:
        """Runs jobs until ``stop`` is set; jobs under way are cancelled then and run after the next start."""
        workers = [
            asyncio.create_task(self._run_jobs_when_woken_or_due(run_next_job))
            for _ in range(self._settings.workers)
        ]
        try:
            await stop.wait()
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)

    async def _run_jobs_when_woken_or_due(self, work: ExportWork) -> None:
        while True:
            self._woken.clear()
            while await _run_next_job_or_log_error(work):
                pass
            with suppress(TimeoutError):
                async with asyncio.timeout(self._settings.rescan_seconds):
                    await self._woken.wait()


async def _run_next_job_or_log_error(work: ExportWork) -> bool:
    """Runs one job; after an error of the store the next wake-up tries again."""
    try:
        return await work()
    except Exception as fault:  # noqa: BLE001 - a worker outlives whatever one turn raises
        _log.error("jobs cannot be looked for: %s", type(fault).__name__)
        return False
