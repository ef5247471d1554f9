"""F7, F8 and F17: the limit store stopped, hung, full or read-only; and one budget for all processes."""

import asyncio
import json
import statistics
import sys
from datetime import UTC, datetime

import pytest

from hosts.composition.compose import compose
from hosts.composition.load_settings import load_settings_with_environment
from service_core import builtin
from service_core.access.api_keys import create_workspace_with_keys
from service_core.api.http_messages import ApiRequest
from service_core.extensions.hooks import hook
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.kernel.operations import RateLimitClass, operation
from service_core.kernel.schemas import ResponseModel
from tests.fixtures.cpu_wait import Stopwatch

BACK_WITHIN_SECONDS = 100
"""Against hanging."""
FOR_EVER = 4_000_000_000
READ = "/v1/overview?start_date=2026-07-01&end_date=2026-07-02"
SPENDING = """
import asyncio, sys
from pathlib import Path
from service_core.extensions.registry import collect_plugins_into_registry

async def main(url, times):
    limiter = collect_plugins_into_registry().open_adapter("limits", url, base_folder=Path())
    spent = await asyncio.gather(*(limiter.consume("key", 100, int(sys.argv[3])) for _ in range(times)))
    await limiter.aclose()
    print(sum(allowance.allowed for allowance in spent))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


class NoteResponse(ResponseModel):
    noted: bool


@operation("POST /notes", rate_limit=RateLimitClass.MUTATION, tag="notes")
async def post_note() -> NoteResponse:
    """Stand for every write."""
    return NoteResponse(noted=True)


class NotesPlugin:
    @hook
    def operations(self):
        return [post_note]


class LimitedApi:
    """A deployment whose budgets and queue are in Redis, asked without a socket in between."""

    def __init__(self, service, key, patient):
        self.service, self.key, self.patient = service, key, patient

    async def ask(self, method, path, key=None):
        """Status, headers, body, and the seconds it took."""
        headers = {"authorization": f"Bearer {key or self.key}"}
        path, _, query = path.partition("?")
        watch = Stopwatch()
        response = await self.service.dispatch(ApiRequest(method, path, query, headers))
        return response.status, response.headers, json.loads(response.body), watch.seconds()

    async def comes(self, condition):
        async with asyncio.timeout(BACK_WITHIN_SECONDS):
            while not await condition():
                await asyncio.sleep(0.1)

    async def is_back(self):
        """Asked with a key of its own: the standby budget is small."""
        return "X-RateLimit-Degraded" not in (await self.ask("GET", "/v1/context", self.patient))[1]

    async def takes_writes(self):
        """On a busy machine an answer may come too late, and the write is refused."""
        status, _, body, _ = await self.ask("POST", "/v1/notes")
        assert status == 200 or body["code"] == "limiter_unavailable"
        return status == 200

    async def is_whole(self):
        """Back, and for the key that read meanwhile; on a busy machine an answer may come too late once more."""
        if not await self.is_back():
            return False
        status, headers, *_ = await self.ask("GET", READ)
        return status == 200 and "X-RateLimit-Degraded" not in headers


@pytest.fixture
async def api(redis_server, tmp_path):
    config = tmp_path / "touchpoint.toml"
    url = redis_server.url
    config.write_text(f'[rate_limits]\nstore = "{url}/0"\n[ingest]\nqueue = "{url}/1?timeout_seconds=5"\n')
    registry = collect_plugins_into_registry([("builtin", builtin), ("notes", NotesPlugin())])
    async with compose(load_settings_with_environment(config), tmp_path, registry=registry) as service:
        initialized_deployment = [
            await create_workspace_with_keys(service.ports.workspace.credentials, datetime.now(UTC), name=n)
            for n in "AB"
        ]
        yield LimitedApi(service, *(each.agent_key.secret for each in initialized_deployment))


def stop_server(server):
    server.kill()
    return server.start


def suspend_server(server):
    server.suspend()
    return server.resume


def fill_memory(server):
    assert server.first_line_of_reply("CONFIG", "SET", "maxmemory", "1") == "+OK"
    return lambda: server.first_line_of_reply("CONFIG", "SET", "maxmemory", "0")


def make_read_only(server):
    assert server.first_line_of_reply("REPLICAOF", "127.0.0.1", "1") == "+OK"
    return lambda: server.first_line_of_reply("REPLICAOF", "NO", "ONE")


@pytest.mark.faults
@pytest.mark.parametrize("fault", [stop_server, suspend_server, fill_memory, make_read_only])
async def test_lost_limit_store_degrades_reads_refuses_writes_and_recovers(
    api, redis_server, fault, is_full_run
):
    before = [(await api.ask("GET", READ))[3] for _ in range(5)]
    await api.comes(api.takes_writes)
    for _ in range(3 if is_full_run else 1):
        mend = fault(redis_server)
        reads = [await api.ask("GET", READ) for _ in range(5)]
        writes = [await api.ask("POST", "/v1/notes") for _ in range(3)]
        mend()
        assert {status for status, *_ in reads} == {200}
        assert {headers["X-RateLimit-Degraded"] for _, headers, *_ in reads} == {"1"}
        assert {(status, body["code"]) for status, _, body, _ in writes} == {(503, "limiter_unavailable")}
        slower = [seconds for *_, seconds in reads + writes]
        assert statistics.median(slower) < statistics.median(before) + 0.3
        assert max(slower) < max(before) + 5
        await api.comes(api.is_whole)
    await api.comes(api.takes_writes)


@pytest.mark.faults
async def test_readiness_reports_a_lost_and_recovered_limit_store(api, redis_server):
    async def says(wanted, **checks):
        status, _, body, _ = await api.ask("GET", "/ready")
        return status == wanted and body["checks"] == body["checks"] | checks

    await api.comes(lambda: says(200, limiter="ok", queue="ok"))
    redis_server.kill()
    await api.comes(lambda: says(503, limiter="degraded", queue="degraded"))
    redis_server.start()
    await api.comes(lambda: says(200, limiter="ok", queue="ok"))


@pytest.mark.faults
async def test_400_concurrent_requests_never_exceed_a_limit_of_100(redis_server, is_full_run):
    processes = 8 if is_full_run else 4
    started = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", SPENDING, f"{redis_server.url}/0?timeout_seconds=5", str(400 // processes),
            str(FOR_EVER), stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(processes)
    ]  # fmt: skip
    passed = [int((await process.communicate())[0]) for process in started]
    assert sum(passed) == 100
