"""Everything that may happen to the job of an export while it waits and runs."""

import asyncio
import errno
import os
from types import SimpleNamespace

import pytest

from hosts.worker.export_formats import create_renderer
from service_core.access.workspace_cache import WorkspaceCache
from service_core.analytics.ports import StoreUnavailable
from service_core.delivery.exports.export_rows import ExportRows
from service_core.delivery.exports.export_worker import ExportWorker
from service_core.delivery.exports.export_writer import ExportWriter
from service_core.delivery.exports.models import LEASE, ExportType
from service_core.delivery.exports.ports import JobQueueUnavailable
from tests.fixtures.stub_event_stores import HangingEventStream


def make_export_worker(api_client, *, streams=None, storage=None, max_rows=None, renew_seconds=10.0):
    """A worker of the deployment with a part of it replaced."""
    ports = api_client.service.ports
    caps = {} if max_rows is None else {"max_rows": max_rows}
    contents = ExportRows(
        streams or ports.events,
        ports.events,
        ports.currency_converter,
        ports.events,
        api_client.service.registry.models,
        ports.queue,
        api_client.service.registry.catalog,
        **caps,
    )
    writer = ExportWriter(
        storage or ports.export_storage,
        WorkspaceCache(ports.workspace.credentials),
        contents,
        create_renderer,
    )
    return ExportWorker(
        ports.workspace.export_jobs,
        storage or ports.export_storage,
        writer,
        lambda: api_client.now,
        renew_seconds=renew_seconds,
    )


async def order_unclaimed_export(api_client):
    """The oldest free job, as a worker leaves it that took it and died."""
    work = api_client.service.ports.workspace.export_jobs
    (job,) = await work.list_available_exports(api_client.now, 1)
    taken = job.claim_or_fail(api_client.now)
    assert await work.replace_export_if_unchanged(job, taken)
    return taken


async def find_latest_export(api_client):
    return (
        await api_client.service.ports.workspace.exports.list_exports(api_client.workspaces["shop"].id, 1)
    )[0]


async def test_file_is_truncated_at_the_row_limit_and_marked(api_client):
    await api_client.some_events(5)
    for most, rows, truncated in ((4, 4, True), (5, 5, False), (6, 5, False)):
        caps = {ExportType.EVENTS: most, ExportType.USERS: most, ExportType.ATTRIBUTION: 9}
        api_client.exporter = make_export_worker(api_client, max_rows=caps)
        for kind in ("events", "users"):
            job = await api_client.export(kind)
            assert (job["row_count"], job["truncated"]) == (rows, truncated)
    newest = await api_client.rows()
    assert [row["visitor_id"] for row in newest] == ["A4", "A3", "A2", "A1", "A0"]


async def test_job_fails_when_not_started_for_a_day(memory_api_client):
    ordered = await memory_api_client.order()
    memory_api_client.later(hours=23, minutes=59)
    assert (await memory_api_client.polled(ordered))["status"] == "queued"
    memory_api_client.later(minutes=1)
    for _ in range(2):
        job = await memory_api_client.polled(ordered)
        assert (job["status"], job["error"], job["download"]) == ("failed", "timed out", None)
        assert job["completed_at"] == "2026-07-09T15:00:00.000Z"
        memory_api_client.later(hours=1)
        await memory_api_client.exporter.expire_due_exports()
    assert not await memory_api_client.exporter.run_next_job()
    assert (await memory_api_client.order()).status == 202


async def test_job_fails_after_half_an_hour_and_frees_its_slot(memory_api_client):
    ordered = [await memory_api_client.order() for _ in range(5)]
    await order_unclaimed_export(memory_api_client)
    memory_api_client.later(minutes=30)
    await memory_api_client.exporter.expire_due_exports()
    shown = await memory_api_client.polled(ordered[0])
    assert (shown["status"], shown["error"], shown["row_count"]) == ("failed", "timed out", None)
    assert (await memory_api_client.order()).status == 202


async def test_worker_stops_writing_after_half_an_hour(memory_api_client):
    ordered = await memory_api_client.order()
    await order_unclaimed_export(memory_api_client)
    memory_api_client.later(minutes=29, seconds=59.99)
    await asyncio.wait_for(
        make_export_worker(memory_api_client, streams=HangingEventStream()).run_next_job(), 30
    )
    assert (await memory_api_client.polled(ordered))["error"] == "timed out"


@pytest.mark.parametrize(
    ("fault", "error"),
    [(StoreUnavailable(), "source unavailable"), (RuntimeError("of ann@example.com"), "internal error")],
)
async def test_error_fails_the_job_and_leaves_no_file(memory_api_client, caplog, fault, error):
    await memory_api_client.some_events()

    class Faulty:
        async def stream_events_newest_first(self, scan, limit):
            async for batch in memory_api_client.service.ports.events.stream_events_newest_first(scan, limit):
                yield batch
            raise fault

    ordered = await memory_api_client.order()
    await make_export_worker(memory_api_client, streams=Faulty()).run_next_job()
    job = await memory_api_client.polled(ordered)
    assert (job["status"], job["error"], job["download"]) == ("failed", error, None)
    assert job["completed_at"]
    assert memory_api_client.files == []
    assert "ann@" not in caplog.text


async def test_insufficient_data_error_is_stored_in_the_job(memory_api_client):
    ordered = await memory_api_client.order("attribution", filters={"model": "markov"})
    await memory_api_client.exporter.run_next_job()
    assert (await memory_api_client.polled(ordered))["error"].endswith(
        "conversions and 300 paths without one"
    )


@pytest.mark.parametrize("call", ["fsync", "fdopen"])
async def test_full_disk_fails_the_job_and_leaves_no_part_of_a_file(memory_api_client, monkeypatch, call):
    await memory_api_client.some_events()
    ordered = await memory_api_client.order()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        await memory_api_client.exporter.run_next_job()
    assert (await memory_api_client.polled(ordered))["error"] == "internal error"
    assert memory_api_client.files == []
    assert (await memory_api_client.export())["status"] == "completed"


async def test_job_of_a_dead_worker_is_taken_over_after_its_lease(memory_api_client):
    await memory_api_client.some_events()
    ordered = await memory_api_client.order()
    taken = await order_unclaimed_export(memory_api_client)
    (memory_api_client.folder / "exports" / f"{taken.file_name}.part").write_bytes(b"half a fi")
    assert not await memory_api_client.exporter.run_next_job()
    assert (await memory_api_client.polled(ordered))["status"] == "running"
    memory_api_client.later(seconds=LEASE.total_seconds())
    assert await memory_api_client.exporter.run_next_job()
    assert (await memory_api_client.polled(ordered))["row_count"] == 5
    assert memory_api_client.files == [f"{taken.id}-2.csv"]


async def test_job_that_crashes_three_workers_fails(memory_api_client):
    ordered, other = await memory_api_client.order(), await memory_api_client.order()
    for _ in range(3):
        assert str((await order_unclaimed_export(memory_api_client)).id) == ordered.json["id"]
        memory_api_client.later(seconds=LEASE.total_seconds())
    assert await memory_api_client.exporter.run_next_job()
    assert (await memory_api_client.polled(ordered))["error"] == "internal error"
    assert await memory_api_client.exporter.run_next_job()
    assert (await memory_api_client.polled(other))["status"] == "completed"


async def test_suspended_worker_discards_its_file_when_its_job_was_taken_over(memory_api_client):
    await memory_api_client.some_events()
    ordered = await memory_api_client.order()

    class Sleepy:
        """Sleeps until another worker has done the job."""

        async def stream_events_newest_first(self, scan, limit):
            memory_api_client.later(seconds=LEASE.total_seconds())
            assert await memory_api_client.exporter.run_next_job()
            async for batch in memory_api_client.service.ports.events.stream_events_newest_first(scan, limit):
                yield batch

    assert await make_export_worker(memory_api_client, streams=Sleepy()).run_next_job()
    job = await memory_api_client.polled(ordered)
    assert (job["status"], job["row_count"]) == ("completed", 5)
    assert memory_api_client.files == [f"{job['id']}-2.csv"]


async def test_worker_that_lost_its_lease_stops_writing(memory_api_client):
    ordered = await memory_api_client.order()
    hanging = HangingEventStream()
    running = asyncio.create_task(
        make_export_worker(memory_api_client, streams=hanging, renew_seconds=0.01).run_next_job()
    )
    await hanging.started.wait()
    work = memory_api_client.service.ports.workspace.export_jobs
    job = await find_latest_export(memory_api_client)
    while not await work.replace_export_if_unchanged(job, job.fail(memory_api_client.now, "timed out")):
        job = await find_latest_export(memory_api_client)
    assert await asyncio.wait_for(running, 30)
    assert (await memory_api_client.polled(ordered))["error"] == "timed out"
    assert memory_api_client.files == []


async def test_lease_is_renewed_while_the_worker_works(memory_api_client):
    await memory_api_client.some_events()
    ordered = await memory_api_client.order()
    held = asyncio.Event()

    class Long:
        async def stream_events_newest_first(self, scan, limit):
            await held.wait()
            async for batch in memory_api_client.service.ports.events.stream_events_newest_first(scan, limit):
                yield batch

    running = asyncio.create_task(
        make_export_worker(memory_api_client, streams=Long(), renew_seconds=0.01).run_next_job()
    )
    async with asyncio.timeout(30):
        for _ in range(4):
            memory_api_client.later(seconds=10)
            while True:
                job = await find_latest_export(memory_api_client)
                if job.free_at == memory_api_client.now + LEASE:
                    break
                await asyncio.sleep(0)
            assert not await memory_api_client.exporter.run_next_job()
    held.set()
    await running
    job = await memory_api_client.polled(ordered)
    assert (job["status"], job["row_count"]) == ("completed", 5)


async def test_stopping_releases_the_job_immediately(memory_api_client):
    await memory_api_client.some_events()
    ordered = await memory_api_client.order()
    for _ in range(4):
        hanging, stop = HangingEventStream(), asyncio.Event()
        jobs = memory_api_client.service.ports.jobs
        here = asyncio.create_task(
            jobs.run_worker(make_export_worker(memory_api_client, streams=hanging).run_next_job, stop)
        )
        await asyncio.wait_for(hanging.started.wait(), 30)
        stop.set()
        await asyncio.wait_for(here, 30)
        assert memory_api_client.files == []
    assert await memory_api_client.exporter.run_next_job()
    assert (await memory_api_client.polled(ordered))["row_count"] == 5


async def test_job_lost_by_the_queue_is_enqueued_again(memory_api_client):
    ordered = [await memory_api_client.order() for _ in range(3)]
    woken = []

    async def wake(export_id):
        woken.append(str(export_id))
        raise JobQueueUnavailable

    await memory_api_client.exporter.wake_workers_for_available_exports(SimpleNamespace(wake_worker=wake))
    assert woken == [answer.json["id"] for answer in ordered]
