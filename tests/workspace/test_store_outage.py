"""While the workspace store is away its answers are unknown, never 500 and never empty; afterwards all is as before."""

import asyncio
import json
import resource
import sqlite3
from contextlib import closing, contextmanager

import pytest

from hosts.ingest import write_key_cache
from hosts.ingest.run import create_ingest_host_app
from plugins.workspace_sql import change_counter_poller
from service_core.access.api_keys import create_workspace_with_keys
from service_core.api.readiness import build_change_version_probe
from service_core.kernel.ids import new_agent_token, new_write_key
from tests.fixtures.databases import LONG_TIMEOUT
from tests.workspace.conftest import NOW, WorkspaceApi

READS = ("/rules", "/links", "/reports", "/dashboards", "/analyses", "/share-links", "/audit", "/onboarding")
ACCEPTED, NOT_TOLD = (200, None), (500, "Internal server error")
LINK = {"link": {"name": "Spring", "destination_url": "https://example.com/a"}}


def open_workspace_api(folder, url):
    return WorkspaceApi(folder, storage={"events": "memory://", "workspace": url})


def is_unavailable(answer):
    """Nobody can say; it is no refusal, and asking again is worth it."""
    assert (answer.status, answer.json.get("code")) == (503, "data_unverified"), answer.json
    assert answer.headers["Retry-After"] == "5"


async def open_workspace_and_ingest(workspace_api):
    """The write key of a third workspace; the keys of the other two are in ``workspace_api.keys``."""
    await workspace_api.open()
    initialized_deployment = await create_workspace_with_keys(
        workspace_api.service.ports.workspace.credentials, NOW, name="third"
    )
    workspace_api.keys["nobody"] = new_agent_token()
    return initialized_deployment.write_key.secret


async def assert_all_unavailable(workspace_api, host):
    for path in READS:
        is_unavailable(await workspace_api.ask("GET", path))
    is_unavailable(await workspace_api.ask("POST", "/links", LINK))
    is_unavailable(await workspace_api.ask("GET", "/rules", key="nobody"))
    assert await host.track(new_write_key()) == NOT_TOLD
    assert not (
        await build_change_version_probe(workspace_api.service.ports.workspace.credentials).check()
    ).ok


async def assert_all_available(workspace_api, host):
    for path in READS:
        assert (await workspace_api.ask("GET", path)).status == 200
    assert (await workspace_api.ask("POST", "/links", LINK)).status == 200
    assert (await workspace_api.ask("GET", "/rules", key="nobody")).status == 401
    assert await host.track(new_write_key()) == (401, "Invalid API key")


class IngestHost:
    """`POST /track` over the ports of an office."""

    def __init__(self, workspace_api):
        self.app = create_ingest_host_app(workspace_api.service.settings, workspace_api.service.ports)

    async def track(self, key):
        """Status and ``error`` of the answer."""
        sent = [{"type": "http.request", "body": b'{"event":"purchase","user_id":"u"}', "more_body": False}]
        out = []

        async def receive():
            return sent.pop()

        async def send(message):
            out.append(message)

        headers = [(b"host", b"ingest"), (b"x-api-key", key.encode())]
        await self.app(
            {"type": "http", "method": "POST", "path": "/track", "headers": headers}, receive, send
        )
        return out[0]["status"], json.loads(out[1]["body"]).get("error")


@contextmanager
def hold_write_lock(file):
    """Another program holds the write lock."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def make_disk_full(_file):
    """No file of this process may grow, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def make_unreadable(file):
    """What lies where the pages were makes no sense, and nothing of them is remembered."""
    index = file.with_name(f"{file.name}-shm")
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = file.read_bytes()
    with file.open("r+b") as pages, index.open("r+b") as result:
        pages.write(b"\xff" * len(kept))
        result.write(bytes(136))
        pages.flush()
        result.flush()
        yield
        pages.seek(0)
        result.seek(0)
        pages.write(kept)
        result.write(bytes(136))
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA user_version = 1")  # whoever remembers the senseless pages reads them anew


@pytest.mark.parametrize("trouble", [hold_write_lock, make_disk_full])
async def test_read_only_file_returns_503_for_writes_only(tmp_path, trouble):
    workspace_api = open_workspace_api(tmp_path, "sqlite:///workspace.db?busy_seconds=0.05")
    async with workspace_api.service:
        await workspace_api.open()
        with trouble(tmp_path / "workspace.db"):
            refused = await workspace_api.ask("POST", "/links", LINK)
            is_unavailable(refused)
            assert refused.json["error"] == "The data cannot be written at the moment"
            assert (refused.json["dry_run"], refused.json["applied"]) == (False, False)
            assert await workspace_api.links() == []
        assert (await workspace_api.ask("POST", "/links", LINK)).status == 200
        assert [link["name"] for link in await workspace_api.links()] == ["Spring"]


async def test_unreadable_file_returns_503_except_for_cached_ingest_keys(tmp_path):
    workspace_api = open_workspace_api(tmp_path, "sqlite:///workspace.db")
    async with workspace_api.service:
        host, writer = IngestHost(workspace_api), await open_workspace_and_ingest(workspace_api)
        assert await host.track(writer) == ACCEPTED
        with make_unreadable(tmp_path / "workspace.db"):
            assert await host.track(writer) == ACCEPTED
            await assert_all_unavailable(workspace_api, host)
        await assert_all_available(workspace_api, host)


async def test_stopped_server_returns_503_except_for_cached_ingest_keys(
    postgres_server, tmp_path, monkeypatch
):
    monkeypatch.setattr(change_counter_poller, "MAX_AGE_SECONDS", 0.3)
    monkeypatch.setattr(write_key_cache, "MAX_AGE_SECONDS", 0.0)  # of a clock that no test turns
    workspace_api = open_workspace_api(tmp_path, f"{postgres_server.url}?{LONG_TIMEOUT}")
    async with workspace_api.service:
        host, writer = IngestHost(workspace_api), await open_workspace_and_ingest(workspace_api)
        assert await host.track(writer) == ACCEPTED
        await asyncio.to_thread(postgres_server.stop)
        async with asyncio.timeout(30):
            while workspace_api.service.ports.workspace.credentials.change_version() is not None:
                await asyncio.sleep(0.01)
        assert await host.track(writer) == ACCEPTED
        workspace_api.later(seconds=299)
        assert await host.track(writer) == ACCEPTED
        workspace_api.later(seconds=1)
        assert await host.track(writer) == NOT_TOLD
        await assert_all_unavailable(workspace_api, host)
        await asyncio.to_thread(postgres_server.start)
        await assert_all_available(workspace_api, host)
        assert await host.track(writer) == ACCEPTED
