"""Doing exports: take a free job, write its file, say how it ended; and what time alone brings about.

A worker holds a job by a lease that it renews while it writes. When it dies the lease ends and another
worker takes the job; when it only slept, it finds its lease gone and its file is thrown away.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from service_core.delivery.exports.model import (
    INTERNAL_ERROR,
    LEASE,
    SOURCE_UNAVAILABLE,
    TIMED_OUT,
    Export,
    Status,
)
from service_core.delivery.exports.ports import ExportSink, ExportWork, JobQueue, QueueDown
from service_core.delivery.exports.write import ExportWriter
from service_core.kernel.clock import Clock
from service_core.kernel.errors import Unavailable503, Unprocessable

RENEW_SECONDS: Final = LEASE.total_seconds() / 3
_MOST_WOKEN: Final = 20

_log: Final = logging.getLogger("touchpoint.exports")


class _LeaseLost(Exception):
    """Another worker has the job, or its time was over."""


@dataclass(slots=True)
class _Held:
    """A job in the hands of this worker: how its row stands."""

    export: Export


class Exporter:
    """Does exports, one at a time; several may work side by side, in any number of processes.

    Args:
        work: the rows of the jobs.
        sink: where the files go.
        writer: writes them.
        clock: gives the present.
        renew_seconds: how often the lease is renewed.
    """

    def __init__(
        self,
        work: ExportWork,
        sink: ExportSink,
        writer: ExportWriter,
        clock: Clock,
        *,
        renew_seconds: float = RENEW_SECONDS,
    ) -> None:
        self._work = work
        self._sink = sink
        self._writer = writer
        self._clock = clock
        self._renew_seconds = renew_seconds

    async def run_next(self) -> bool:
        """Take the oldest free job and bring it to an end; False when there is none."""
        export = await self._claimed()
        if export is None:
            return False
        if export.status is Status.RUNNING:
            await self._finish(_Held(export))
        else:
            await self._drop(export.files)
        return True

    async def sweep(self) -> None:
        """End what time ends: files after their life, jobs that nobody did, jobs that never came to an end."""
        for export in await self._work.due_exports(self._clock()):
            ended = export.ended()
            if ended.status is Status.EXPIRED:
                await self._drop(export.files)  # before the row says so: a crash between repeats it
            if await self._work.replace_export(export, ended) and ended.status is Status.FAILED:
                await self._drop(export.files)

    async def rouse(self, jobs: JobQueue) -> None:
        """Wake workers for every free job, in case a queue forgot."""
        for export in await self._work.free_exports(self._clock(), _MOST_WOKEN):
            with suppress(QueueDown):
                await jobs.wake(export.id)

    async def _claimed(self) -> Export | None:
        """A job that is now ours, or that just failed for having failed too often."""
        while found := await self._work.free_exports(self._clock(), 1):
            taken = found[0].taken(self._clock())
            if await self._work.replace_export(found[0], taken):
                return taken
        return None

    async def _finish(self, held: _Held) -> None:
        file = held.export.file
        try:
            ended = await self._while_held(held)
        except _LeaseLost:
            await self._drop((file,))
            return
        except asyncio.CancelledError:
            await self._work.replace_export(held.export, held.export.released(self._clock()))
            raise
        saved = await self._work.replace_export(held.export, ended)
        kept = {file} if saved and ended.status is Status.COMPLETED else set()
        await self._drop(tuple(name for name in held.export.files if name not in kept))

    async def _while_held(self, held: _Held) -> Export:
        """Write, and renew the lease meanwhile.

        Raises:
            _LeaseLost: the job is somebody else's now.
        """
        writing = asyncio.create_task(self._ended(held))
        holding = asyncio.create_task(self._hold(held))
        try:
            await asyncio.wait({writing, holding}, return_when=asyncio.FIRST_COMPLETED)
            if holding.done() and not writing.done():
                raise _LeaseLost
            return await writing
        finally:
            for task in (writing, holding):
                task.cancel()
            await asyncio.wait({writing, holding})

    async def _hold(self, held: _Held) -> None:
        """Renew the lease until it is lost; a store that is away is asked again while the lease lasts."""
        while True:
            await asyncio.sleep(self._renew_seconds)
            renewed = held.export.held(self._clock())
            try:
                if not await self._work.replace_export(held.export, renewed):
                    return
            except Exception as fault:  # noqa: BLE001 - whatever the store raised, the next try may succeed
                _log.warning("lease of export %s not renewed: %s", held.export.id, type(fault).__name__)
            else:
                held.export = renewed

    async def _ended(self, held: _Held) -> Export:
        """The job's last state: completed, or failed with one of the texts of the contract."""
        export = held.export
        left = (export.due_at or self._clock()) - self._clock()
        try:
            async with asyncio.timeout(left.total_seconds()):
                rows, truncated = await self._writer.write(export)
        except TimeoutError:
            failed, fault = TIMED_OUT, "-"
        except Unavailable503 as away:
            failed, fault = SOURCE_UNAVAILABLE, type(away).__name__
        except Unprocessable as refusal:
            failed, fault = refusal.message, "-"
        except Exception as other:  # noqa: BLE001 - whatever it is, the job fails and the worker goes on
            failed, fault = INTERNAL_ERROR, type(other).__name__
        else:
            return held.export.completed(self._clock(), rows, truncated=truncated)
        # A message may hold a person's data: only the kind of a fault is kept.
        _log.error("export %s failed: %s (%s)", export.id, failed, fault)
        return held.export.failed(self._clock(), failed)

    async def _drop(self, names: tuple[str, ...]) -> None:
        for name in names:
            try:
                await self._sink.delete(name)
            except Exception as fault:  # noqa: BLE001 - a file that stays is no reason to stop working
                _log.warning("file %s not deleted: %s", name, type(fault).__name__)
