"""Jobs of worker processes: woken over Redis, which may forget, hang or be played with, and found by their rows."""

import asyncio
import json
import os
import pickle
import subprocess
import sys
import zlib
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from redis import Redis

from hosts.composition.compose import compose
from hosts.composition.load_settings import load_settings_with_environment
from hosts.worker.exports import build_export_worker
from service_core.access.api_keys import create_workspace_with_keys
from service_core.api.http_messages import ApiRequest
from service_core.delivery.exports.ports import JobQueueUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.errors import StartupError
from tests.fixtures.processes import running_process

QUEUE = "rq:queue:touchpoint-exports"


@asynccontextmanager
async def open_jobs(url, folder, timeout_seconds=5):
    opened = collect_plugins_into_registry().open_adapter(
        "jobs", f"{url}?timeout_seconds={timeout_seconds}", base_folder=folder
    )
    yield opened
    await opened.aclose()


@pytest.fixture
async def jobs(redis_server, tmp_path):
    async with open_jobs(redis_server.url, tmp_path) as opened:
        yield opened


@pytest.fixture
async def jobs_with_short_timeout(redis_server, tmp_path):
    """The same, for a server that answers nobody."""
    async with open_jobs(redis_server.url, tmp_path, 0.25) as opened:
        yield opened


@pytest.fixture
def redis(redis_server):
    with Redis.from_url(redis_server.url) as client:
        yield client


async def test_wake_up_contains_only_the_job_id_as_json(jobs, redis):
    export_id = uuid4()
    await jobs.wake_worker(export_id)
    (name,) = redis.lrange(QUEUE, 0, -1)
    sent = redis.hget(b"rq:job:" + name, "data")

    assert json.loads(zlib.decompress(sent)) == [
        "plugins.jobs_rq.job.run_named_function",
        None,
        [str(export_id)],
        {},
    ]
    assert 0 < redis.ttl(b"rq:job:" + name) <= 60


async def test_unavailable_or_hanging_server_is_reported_immediately(
    jobs, jobs_with_short_timeout, redis_server
):
    for harm, heal in ((redis_server.suspend, redis_server.resume), (redis_server.kill, redis_server.start)):
        harm()
        async with asyncio.timeout(60):
            with pytest.raises(JobQueueUnavailable):
                await jobs_with_short_timeout.wake_worker(uuid4())
        heal()
        await jobs.wake_worker(uuid4())


async def test_health_check_leaves_nothing_on_the_server(jobs, jobs_with_short_timeout, redis_server, redis):
    await jobs.check()
    assert redis.keys() == []
    redis_server.suspend()
    with pytest.raises(StartupError, match=r"exports\.queue does not answer"):
        await jobs_with_short_timeout.check()
    redis_server.resume()
    await jobs.check()


async def test_serving_process_runs_no_jobs(jobs):
    stop, request = asyncio.Event(), []
    here = asyncio.create_task(jobs.run_worker(request.append, stop))
    await asyncio.wait_for(here, 30)
    assert not stop.is_set()
    assert request == []


def test_queue_without_a_server_stops_the_start(tmp_path):
    for url in ("redis://", "redis://host/x", "redis://host?queue=a b", "redis://host?nice=1"):
        with pytest.raises(StartupError):
            collect_plugins_into_registry().open_adapter("jobs", url, base_folder=tmp_path)


def test_worker_process_loads_no_data_frame_library():
    code = "import sys, hosts.worker.export_worker, plugins.jobs_rq.worker; print([m for m in ('polars', 'duckdb') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class RqDeployment:
    """A deployment whose exports are done by workers, seen from a process that serves it."""

    def __init__(self, folder, redis_url, events_url):
        self.config = folder / "touchpoint.toml"
        self.config.write_text(
            f'[storage]\nevents = "{events_url}"\n[exports]\nqueue = "{redis_url}?timeout_seconds=5"\n'
        )
        self.service = compose(load_settings_with_environment(self.config), folder)
        self.key = ""

    async def open(self):
        made = await create_workspace_with_keys(
            self.service.ports.workspace.credentials, datetime.now(UTC), name="Shop"
        )
        self.key = made.agent_key.secret

    async def ask(self, method, path, body=None):
        headers = {"authorization": f"Bearer {self.key}"}
        content = json.dumps(body).encode() if body else b""
        return json.loads((await self.service.dispatch(ApiRequest(method, path, "", headers, content))).body)

    async def order(self):
        dates = {"start_date": "2026-07-01", "end_date": "2026-07-07"}
        return (await self.ask("POST", "/v1/exports", {"type": "events", **dates}))["id"]

    async def final(self, export_id, seconds=200):
        async with asyncio.timeout(seconds):
            while True:
                job = await self.service.ports.workspace.exports.find_export(UUID(export_id))
                if job.status in {"completed", "failed"}:
                    return job
                await asyncio.sleep(0.05)

    @contextmanager
    def worker(self):
        command = [sys.executable, "-m", "hosts.cli", "worker", "--config", str(self.config)]
        with (
            (self.config.parent / "worker.log").open("ab") as log,
            running_process(command, stdout=log, stderr=log) as process,
        ):
            yield process


@pytest.fixture
async def deployment(tmp_path, redis_server, postgres_url):
    made = RqDeployment(tmp_path, redis_server.url, postgres_url)
    async with made.service:
        await made.open()
        yield made


@pytest.mark.faults
async def test_workers_run_jobs_also_when_the_queue_loses_them(deployment, redis):
    forgotten = [await deployment.order() for _ in range(2)]
    redis.flushall()
    with deployment.worker():
        exporter = build_export_worker(deployment.service.ports)
        await exporter.wake_workers_for_available_exports(deployment.service.ports.jobs)
        jobs = [await deployment.final(export_id) for export_id in forgotten]
        jobs.append(await deployment.final(await deployment.order()))
    assert [(job.status, job.row_count) for job in jobs] == [("completed", 0)] * 3
    assert all((deployment.config.parent / "exports" / job.file_name).exists() for job in jobs)


@pytest.mark.faults
async def test_worker_recovers_after_the_queue_was_unavailable(deployment, redis_server):
    with deployment.worker():
        assert (await deployment.final(await deployment.order())).status == "completed"
        redis_server.kill()
        assert (await deployment.ask("POST", "/v1/exports", {"type": "events"}))["error"]
        redis_server.start()
        assert (await deployment.final(await deployment.order())).status == "completed"


@pytest.mark.faults
async def test_foreign_queue_entries_are_never_executed(deployment, redis, tmp_path):
    canary = tmp_path / "canary"

    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(canary),)

    planted = {
        "pickled": pickle.dumps(("os.mkdir", None, (str(canary),), {})),
        "reduced": pickle.dumps(Harm()),
        "named": json.dumps(["os.mkdir", None, [str(canary)], {}]).encode(),
    }
    for name, data in planted.items():
        redis.hset(
            f"rq:job:{name}",
            mapping={
                "data": data,
                "origin": "touchpoint-exports",
                "status": "queued",
                "created_at": "2026-07-08T15:00:00.000000Z",
            },
        )
        redis.rpush(QUEUE, name)
    export_id = await deployment.order()
    with deployment.worker():
        assert (await deployment.final(export_id)).status == "completed"
        async with asyncio.timeout(100):
            while redis.llen(QUEUE):
                await asyncio.sleep(0.05)
    assert not canary.exists()


@pytest.mark.faults
async def test_worker_needs_a_job_queue(tmp_path):
    (tmp_path / "touchpoint.toml").write_text("")
    command = [sys.executable, "-m", "hosts.cli", "worker", "--config", str(tmp_path / "touchpoint.toml")]
    done = await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE)
    _, result = await done.communicate()
    assert done.returncode == 2
    assert b"needs no worker" in result
