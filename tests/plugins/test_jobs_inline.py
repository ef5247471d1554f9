"""Jobs of the serving process: done when woken, looked for unasked, given up when told to stop."""

import asyncio
from collections import deque
from uuid import uuid4

import pytest

from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError


class RecordingWorker:
    """Work that notes what was done."""

    def __init__(self, *jobs):
        self.waiting, self.done, self.asked = deque(jobs), [], 0
        self.changed = asyncio.Condition()

    async def work(self):
        async with self.changed:
            self.asked += 1
            job = self.waiting.popleft() if self.waiting else None
            if isinstance(job, Exception):
                raise job
            if job is not None:
                self.done.append(job)
            self.changed.notify_all()
            return job is not None

    async def until(self, condition):
        async with asyncio.timeout(30), self.changed:
            await self.changed.wait_for(condition)


@pytest.fixture
def opened(tmp_path):
    return lambda url="inline://": collect_plugins_into_registry().open_adapter(
        "jobs", url, base_folder=tmp_path
    )


async def stop_task(task, stop):
    stop.set()
    await asyncio.wait_for(task, 30)


async def test_waiting_jobs_run_at_start_and_new_ones_on_wake_up(opened):
    jobs, bench, stop = opened("inline://?rescan_seconds=60"), RecordingWorker("a", "b"), asyncio.Event()
    here = asyncio.create_task(jobs.run_worker(bench.work, stop))
    await bench.until(lambda: bench.asked == 3)
    assert bench.done == ["a", "b"]
    bench.waiting.append("c")
    await jobs.wake_worker(uuid4())
    await bench.until(lambda: bench.asked == 5)
    await stop_task(here, stop)
    assert bench.done == ["a", "b", "c"]


async def test_jobs_are_polled_without_a_wake_up(opened):
    jobs, bench, stop = opened("inline://?rescan_seconds=0.01"), RecordingWorker(), asyncio.Event()
    here = asyncio.create_task(jobs.run_worker(bench.work, stop))
    await bench.until(lambda: bench.asked > 2)
    assert bench.done == []
    bench.waiting.append("a")
    await bench.until(lambda: bench.done)
    await stop_task(here, stop)
    assert bench.done == ["a"]


async def test_failed_run_does_not_end_the_worker(opened, caplog):
    jobs, stop = opened("inline://?rescan_seconds=0.01"), asyncio.Event()
    bench = RecordingWorker(RuntimeError("of ann@example.com"), "a")
    here = asyncio.create_task(jobs.run_worker(bench.work, stop))
    await bench.until(lambda: bench.done == ["a"])
    await stop_task(here, stop)
    assert "RuntimeError" in caplog.text
    assert "ann@" not in caplog.text


async def test_jobs_run_concurrently_up_to_the_number_of_workers(opened):
    started, stop = asyncio.Semaphore(0), asyncio.Event()
    ended = []

    async def work():
        started.release()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(None)

    here = asyncio.create_task(opened("inline://?workers=3").run_worker(work, stop))
    async with asyncio.timeout(30):
        for _ in range(3):
            await started.acquire()
    assert started.locked()
    await stop_task(here, stop)
    assert len(ended) == 3


@pytest.mark.parametrize("url", ["inline://?workers=0", "inline://?rescan_seconds=0", "inline://?nice=1"])
def test_misspelt_setting_stops_the_start(opened, url):
    with pytest.raises(StartupError):
        opened(url)
