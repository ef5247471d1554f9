"""F9 on RQ: the process of a job, its worker, or both are killed while a file is written; every export ends whole."""

import asyncio
import os
import signal
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from uuid import UUID

import pytest

from hosts.worker.exports import MAINTENANCE_SECONDS, build_export_worker
from hosts.worker.periodic import run_periodically_until_stopped
from service_core.delivery.exports.models import ACTIVE_STATES, MAX_ACTIVE, ExportStatus
from service_core.testing.event_builder import EventBuilder
from tests.fault_injection.conftest import FULL
from tests.fixtures.processes import children_of, wait_for_exit
from tests.plugins.test_jobs_rq import RqDeployment

pytestmark = pytest.mark.faults

EVENTS = 12_000 if FULL else 6_000
PROMISED_SECONDS = 120


class WorkerDeployment(RqDeployment):
    """A deployment with events on PostgreSQL, and one worker at a time to be killed."""

    async def fill(self):
        identity = (await self.service.ports.workspace.credentials.list_workspaces())[0]
        story, start = EventBuilder(identity.id), datetime(2026, 7, 1, tzinfo=UTC)
        for number in range(EVENTS):
            story.add_event(
                "page_view",
                at=start + timedelta(seconds=30 * number),
                visitor=f"A{number % 99}",
                page_title="x" * 200,
                event_data={"n": number},
            )
        await self.service.ports.events.append(story.events)

    async def state(self, export_id):
        return await self.service.ports.workspace.exports.find_export(UUID(export_id))

    async def begun(self):
        """An export whose file has been begun and has not ended; one that was faster than this look is left alone."""
        async with asyncio.timeout(PROMISED_SECONDS):
            while True:
                export_id = await self.order()
                while (await self.state(export_id)).status in ACTIVE_STATES:
                    if list(self.folder.glob(f"{export_id}-*.part")):
                        return export_id
                    await asyncio.sleep(0.002)

    @property
    def folder(self):
        return self.config.parent / "exports"

    async def undisturbed(self):
        """The rows of an export that nobody disturbs; its file goes."""
        export_id = await self.order()
        await self.exporter.run_next_job()
        job = await self.state(export_id)
        rows = self.rows(job)
        (self.folder / job.file_name).unlink()
        return rows

    def rows(self, job):
        return sorted((self.folder / job.file_name).read_bytes().splitlines())

    @property
    def exporter(self):
        return build_export_worker(self.service.ports)

    async def rouse(self):
        """What a scheduler does every `MAINTENANCE_SECONDS`, and here each second."""
        await self.exporter.wake_workers_for_available_exports(self.service.ports.jobs)

    async def end_lease(self, export_id):
        """Let the time pass for which a job whose process is gone still counts as being done."""
        job = await self.state(export_id)
        if job.status is ExportStatus.RUNNING:
            ended = replace(job, free_at=datetime.now(UTC))
            await self.service.ports.workspace.export_jobs.replace_export_if_unchanged(job, ended)
            await self.rouse()


def worker_and_job_process(supervisor):
    """The process that waits for jobs, and the one that does the present job."""
    (worker,) = children_of(supervisor)
    return worker, *children_of(worker)


def job_process_only(_worker, *horses):
    return horses


def worker_process_only(worker, *_horses):
    return (worker,)


def kill_targets(*processes):
    return processes


KILLS = (kill_targets, job_process_only, worker_process_only)


@pytest.fixture
async def worker_deployment(tmp_path, redis_server, postgres_url):
    made = WorkerDeployment(tmp_path, redis_server.url, postgres_url)
    async with made.service:
        await made.open()
        await made.fill()
        stop = asyncio.Event()
        rousing = asyncio.create_task(run_periodically_until_stopped(1, made.rouse, stop))
        yield made
        stop.set()
        await rousing


@pytest.mark.timeout(900)
async def test_exports_complete_when_worker_processes_are_killed(worker_deployment, is_full_run):
    wanted, ordered = await worker_deployment.undisturbed(), []
    with ExitStack() as at_work:
        for number, victims in enumerate(islice(cycle(KILLS), 20 if is_full_run else 1)):
            if number % len(KILLS) == 0:  # the oftener a worker ends, the later its supervisor starts another
                at_work.close()
                supervisor = at_work.enter_context(worker_deployment.worker())
            for earlier in ordered[-MAX_ACTIVE : 1 - MAX_ACTIVE]:  # more at a time are refused
                await worker_deployment.final(earlier, PROMISED_SECONDS)
            ordered.append(await worker_deployment.begun())
            for pid in victims(*worker_and_job_process(supervisor.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not is_full_run:
                await worker_deployment.end_lease(ordered[-1])
        jobs = [await worker_deployment.final(export_id, PROMISED_SECONDS) for export_id in ordered]
        for job in jobs:
            assert (job.status, job.row_count) == (ExportStatus.COMPLETED, EVENTS), job.error
            took = job.completed_at - job.created_at + timedelta(seconds=MAINTENANCE_SECONDS)
            assert took.total_seconds() < PROMISED_SECONDS
            assert worker_deployment.rows(job) == wanted
        worker, *_ = worker_and_job_process(supervisor.pid)
        supervisor.kill()
        await asyncio.to_thread(wait_for_exit, [worker])  # it ends with its supervisor, however that ended
    assert not list(worker_deployment.folder.glob("*.part"))
    assert {job.file_name for job in jobs} <= {path.name for path in worker_deployment.folder.iterdir()}
