"""While the workspace store is away its answers are unknown, never 500 and never empty; afterwards all is as before."""

import asyncio
import json
import resource
import sqlite3
from contextlib import closing, contextmanager

import pytest

from hosts.ingest import keys
from hosts.ingest.run import application
from plugins.workspace_sql import polled
from service_core.access.keys import found_workspace
from service_core.gateway.readiness import cache_probe
from service_core.kernel.ids import new_agent_token, new_write_key
from tests.databases import PATIENT
from tests.workspace.conftest import NOW, Office

READS = ("/rules", "/links", "/reports", "/dashboards", "/analyses", "/share-links", "/audit", "/onboarding")
ACCEPTED, NOT_TOLD = (200, None), (500, "Internal server error")
LINK = {"link": {"name": "Spring", "destination_url": "https://example.com/a"}}


def office_at(folder, url):
    return Office(folder, storage={"events": "memory://", "workspace": url})


def is_unknown(answer):
    """Nobody can say; it is no refusal, and asking again is worth it."""
    assert (answer.status, answer.json.get("code")) == (503, "data_unverified"), answer.json
    assert answer.headers["Retry-After"] == "5"


async def opened(office):
    """The write key of a third workspace; what programs of the other two hold stands in ``office.keys``."""
    await office.open()
    founded = await found_workspace(office.service.ports.workspace, NOW, name="third")
    office.keys["nobody"] = new_agent_token()
    return founded.write_key.secret


async def everything_is_unknown(office, host):
    for path in READS:
        is_unknown(await office.ask("GET", path))
    is_unknown(await office.ask("POST", "/links", LINK))
    is_unknown(await office.ask("GET", "/rules", key="nobody"))
    assert await host.track(new_write_key()) == NOT_TOLD
    assert not (await cache_probe(office.service.ports.workspace).check()).ok


async def everything_is_known(office, host):
    for path in READS:
        assert (await office.ask("GET", path)).status == 200
    assert (await office.ask("POST", "/links", LINK)).status == 200
    assert (await office.ask("GET", "/rules", key="nobody")).status == 401
    assert await host.track(new_write_key()) == (401, "Invalid API key")


class IngestHost:
    """`POST /track` over the ports of an office."""

    def __init__(self, office):
        self.app = application(office.service.settings, office.service.ports)

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
def written_by_another(file):
    """Another program holds the write lock."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def no_room(_file):
    """No file of this process may grow, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def unreadable(file):
    """What lies where the pages were makes no sense, and nothing of them is remembered."""
    index = file.with_name(f"{file.name}-shm")
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = file.read_bytes()
    with file.open("r+b") as pages, index.open("r+b") as told:
        pages.write(b"\xff" * len(kept))
        told.write(bytes(136))
        pages.flush()
        told.flush()
        yield
        pages.seek(0)
        told.seek(0)
        pages.write(kept)
        told.write(bytes(136))
    with closing(sqlite3.connect(file)) as other:
        other.execute("PRAGMA user_version = 1")  # whoever remembers the senseless pages reads them anew


@pytest.mark.parametrize("trouble", [written_by_another, no_room])
async def test_a_file_that_takes_no_writes_is_unknown_to_writes_alone(tmp_path, trouble):
    office = office_at(tmp_path, "sqlite:///workspace.db?busy_seconds=0.05")
    async with office.service:
        await office.open()
        with trouble(tmp_path / "workspace.db"):
            refused = await office.ask("POST", "/links", LINK)
            is_unknown(refused)
            assert (refused.json["dry_run"], refused.json["applied"]) == (False, False)
            assert await office.links() == []
        assert (await office.ask("POST", "/links", LINK)).status == 200
        assert [link["name"] for link in await office.links()] == ["Spring"]


async def test_a_file_that_cannot_be_read_is_unknown_to_all_but_keys_ingest_remembers(tmp_path):
    office = office_at(tmp_path, "sqlite:///workspace.db")
    async with office.service:
        host, writer = IngestHost(office), await opened(office)
        assert await host.track(writer) == ACCEPTED
        with unreadable(tmp_path / "workspace.db"):
            assert await host.track(writer) == ACCEPTED
            await everything_is_unknown(office, host)
        await everything_is_known(office, host)


async def test_a_server_that_is_stopped_is_unknown_to_all_but_keys_ingest_remembers(
    postgres_server, tmp_path, monkeypatch
):
    monkeypatch.setattr(polled, "TRUSTED_SECONDS", 0.3)
    monkeypatch.setattr(keys, "KEPT_SECONDS", 0.0)  # of a clock that no test turns
    office = office_at(tmp_path, f"{postgres_server.url}?{PATIENT}")
    async with office.service:
        host, writer = IngestHost(office), await opened(office)
        assert await host.track(writer) == ACCEPTED
        await asyncio.to_thread(postgres_server.stop)
        async with asyncio.timeout(30):
            while office.service.ports.workspace.generation() is not None:
                await asyncio.sleep(0.01)
        assert await host.track(writer) == ACCEPTED
        office.later(seconds=299)
        assert await host.track(writer) == ACCEPTED
        office.later(seconds=1)
        assert await host.track(writer) == NOT_TOLD
        await everything_is_unknown(office, host)
        await asyncio.to_thread(postgres_server.start)
        await everything_is_known(office, host)
        assert await host.track(writer) == ACCEPTED
