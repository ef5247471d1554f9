"""The conformance kit of the port ``jobs``: the tests that every queue of export jobs passes.

Override the fixture ``jobs`` and inherit the tests; pytest needs ``asyncio_mode = "auto"``::

    class TestMyJobs(JobQueueConformance):
        @pytest.fixture
        async def jobs(self):
            return open_my_jobs()

A queue whose workers are processes of their own overrides ``worker``, too: it returns an asynchronous context manager
that runs such a worker with a function that does one job.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import ClassVar
from uuid import uuid4

import pytest

from service_core.delivery.exports.ports import JobQueue

RunNext = Callable[[], Awaitable[bool]]
RunWorker = Callable[[RunNext], AbstractAsyncContextManager[None]]
"""Runs a worker while the context is open."""


class JobRows:
    """The rows of jobs that wait, and those that were done; an exception that waits is raised."""

    def __init__(self, *waiting: str | Exception) -> None:
        self.waiting = deque(waiting)
        self.done: list[str] = []
        self._changed = asyncio.Condition()

    async def run_next_job(self) -> bool:
        """Does the oldest job; False if there is none."""
        async with self._changed:
            self._changed.notify_all()
            if not self.waiting:
                return False
            job = self.waiting.popleft()
            if isinstance(job, Exception):
                raise job
            self.done.append(job)
            return True

    async def wait_for_done(self, *jobs: str) -> None:
        """Waits until these jobs are done, in this order."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.done == list(jobs))


class JobQueueConformance:
    """All tests of the kit; override the fixture ``jobs``.

    Attributes:
        time_limit_seconds: how long a worker may take to do a job, or to stop.
    """

    time_limit_seconds: ClassVar[float] = 30

    @pytest.fixture
    def jobs(self) -> JobQueue:
        """Returns the adapter under test."""
        raise pytest.UsageError("override the fixture `jobs` with the adapter under test")

    @pytest.fixture
    def worker(self, jobs: JobQueue) -> RunWorker:
        """Returns a function that runs a worker in this process."""

        @asynccontextmanager
        async def run(run_next_job: RunNext) -> AsyncIterator[None]:
            stop = asyncio.Event()
            running = asyncio.create_task(jobs.run_worker(run_next_job, stop))
            try:
                yield
            finally:
                stop.set()
                _, unfinished = await asyncio.wait([running], timeout=self.time_limit_seconds)
                running.cancel()
                assert not unfinished, "the worker does not stop"

        return run

    async def test_waiting_jobs_are_done_without_a_wake_up(self, worker: RunWorker) -> None:
        """A worker that starts does the jobs that wait, oldest first: the queue may lose every message."""
        rows = JobRows("a", "b")
        async with worker(rows.run_next_job), asyncio.timeout(self.time_limit_seconds):
            await rows.wait_for_done("a", "b")

    async def test_woken_worker_does_each_job_once(self, jobs: JobQueue, worker: RunWorker) -> None:
        """A job that is added and announced, twice even, is done once."""
        rows = JobRows("a")
        async with worker(rows.run_next_job), asyncio.timeout(self.time_limit_seconds):
            await rows.wait_for_done("a")
            rows.waiting.append("b")
            job_id = uuid4()
            for _ in range(2):
                await jobs.wake_worker(job_id)
            await rows.wait_for_done("a", "b")

    async def test_worker_outlives_a_failing_job_and_logs_no_data_of_it(
        self, jobs: JobQueue, worker: RunWorker, caplog: pytest.LogCaptureFixture
    ) -> None:
        """After a job that raises, the worker does the next one; the text of the error is not logged."""
        caplog.set_level(logging.DEBUG)
        rows = JobRows(RuntimeError("ada@example.com"), "a")
        async with worker(rows.run_next_job), asyncio.timeout(self.time_limit_seconds):
            while "a" not in rows.done:
                await jobs.wake_worker(uuid4())
                await asyncio.sleep(0.01)
        assert "ada@example.com" not in caplog.text

    async def test_worker_stops_and_gives_up_the_job_in_hand(self, worker: RunWorker) -> None:
        """A worker that is told to stop cancels its job and ends."""
        began, ended = asyncio.Event(), asyncio.Event()

        async def endless_job() -> bool:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return True

        async with asyncio.timeout(2 * self.time_limit_seconds), worker(endless_job):
            await began.wait()
        assert ended.is_set()
