"""Roles of two versions side by side, in the order of `docs/deployers/several-processes.md`.

The earlier version is a process of an earlier commit where the checkout has it, `earlier_version.EarlierIngest`, or a
running process whose workspace store is migrated meanwhile.
"""

import asyncio
import json
import sqlite3
import urllib.request
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.ingest.ingest_process import IngestProcess
from hosts.roles.models import Role
from hosts.roles.supervise import build_process_specs
from hosts.worker.consumer import build_ingest_pipeline, process_batches_until_queue_is_empty
from service_core.access.api_keys import create_workspace_with_keys
from service_core.analytics.ports import ConversionSet, EventPageQuery, QueryScope
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.ports import EnqueueResult
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from service_core.kernel.time_ranges import TimeRange
from service_core.testing.queue.kit import NOON, WriteKeyClient, make_stored_event
from tests.fixtures.waiting import GUARD_SECONDS
from tests.hosts.roles.earlier_tree import extract_earlier_tree
from tests.hosts.roles.earlier_version import EarlierIngest


@pytest.fixture
async def deployment(tmp_path):
    """The settings file of a deployment with files, and its workspace with keys."""
    file = tmp_path / "touchpoint.toml"
    file.write_text("")
    ports = open_ports(file)
    async with start_adapters([ports.workspace, ports.queue]):
        return file, await create_workspace_with_keys(
            ports.workspace.credentials, datetime.now(UTC), name="Shop"
        )


def open_ports(file):
    settings = load_settings_with_environment(file)
    return Ports(settings, file.parent, load_installed_registry_once(), system_clock)


def send_event(address, key, event_id):
    """The answer of `/track` to an event."""
    body = json.dumps({"event": "signup", "event_id": event_id, "user_id": "u2"}).encode()
    request = urllib.request.Request(
        f"http://{address}/track", body, {"X-API-Key": key, "Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=GUARD_SECONDS) as answer:
        return answer.status, json.load(answer)


def microseconds(moment):
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


async def test_earlier_and_new_ingest_share_a_queue_that_the_new_consumer_stores(deployment):
    file, made = deployment
    spool = file.parent / "spool.db"
    earlier = EarlierIngest(made.workspace.id, made.write_key.credential.id, microseconds(datetime.now(UTC)))
    child = await IngestProcess.start_and_wait_until_listening(file, listen="127.0.0.1:0")

    def send_from_earlier_version():
        return [
            id_ for n in range(10) for id_ in earlier.offer_to_spool(spool, *(f"e{n}-{m}" for m in range(4)))
        ]

    def send_to_new_version():
        return [send_event(child.address, made.write_key.secret, f"n{n}")[0] for n in range(20)]

    old, new = await asyncio.gather(*map(asyncio.to_thread, (send_from_earlier_version, send_to_new_version)))
    assert (len(old), set(new)) == (40, {200})
    assert earlier.offer_to_spool(spool, "n0", "e-last") == ["e-last"]
    status, answer = await asyncio.to_thread(send_event, child.address, made.write_key.secret, "e0-0")
    assert (status, answer["error"]) == (200, "Duplicate event detected")
    assert await child.terminate_or_kill_after_timeout() == 0

    (spec,) = build_process_specs(file, {Role.CONSUMER: 1}, {}, None)
    consumer = await spec.start_and_wait_until_ready()
    ports = open_ports(file)
    async with start_adapters([ports.queue]):
        async with asyncio.timeout(GUARD_SECONDS):
            while (await ports.queue.state()).waiting_count:
                await asyncio.sleep(0.1)
        assert await consumer.terminate_or_kill_after_timeout() == 0
        now = datetime.now(UTC)
        rows = await ports.queue.ledger_rows(
            made.workspace.id, now - timedelta(days=1), now + timedelta(days=1)
        )
    assert sum(row.received for row in rows) == 41 + 20 + 2
    assert (sum(row.stored for row in rows), sum(row.duplicate for row in rows)) == (61, 2)
    async with start_adapters([ports.events]):
        span = TimeRange(now - timedelta(days=1), now + timedelta(days=1))
        scope = QueryScope(
            made.workspace.id,
            span,
            "USD",
            made.workspace.timezone,
            ConversionSet(frozenset(), any_revenue=False),
        )
        stored = (await ports.events.list_events(EventPageQuery(scope, limit=100))).events
    assert {event.event_id for event in stored} == {*old, "e-last", *(f"n{n}" for n in range(20))}
    assert {event.user_id for event in stored if event.event_id in old} == {"u1"}


@pytest.fixture(scope="module")
def earlier_version(tmp_path_factory):
    """The environment of the earlier version; its modules are compiled once."""
    return extract_earlier_tree(tmp_path_factory.mktemp("earlier"))


@contextmanager
def earlier_schema_version(workspace_store, folder):
    """For the time of the block, names the schema version in the store that the program in ``folder`` starts with."""
    versions = Path(folder, "plugins/workspace_sql/migrations/versions")
    with closing(sqlite3.connect(workspace_store, timeout=30, isolation_level=None)) as store:
        (present,) = store.execute("SELECT version_num FROM alembic_version").fetchone()
        earlier = max(script.stem for script in versions.glob("[0-9]*.py"))
        store.execute("UPDATE alembic_version SET version_num = ?", (earlier,))
        try:
            yield
        finally:
            store.execute("UPDATE alembic_version SET version_num = ?", (present,))


@pytest.mark.parametrize("queue", ["spool", "redis"])
async def test_ingest_process_of_an_earlier_commit_shares_queue_and_stores_with_the_new_processes(
    tmp_path, redis_url, earlier_version, queue
):
    file = tmp_path / "touchpoint.toml"
    url = "spool:///spool.db" if queue == "spool" else f"{redis_url}/0?prefix={uuid4().hex}"
    file.write_text(f'[ingest]\nqueue = "{url}"\n')
    ports = open_ports(file)
    async with start_adapters([ports.workspace, ports.queue]):
        made = await create_workspace_with_keys(ports.workspace.credentials, datetime.now(UTC), name="Shop")
    with earlier_schema_version(file.with_name("workspace.db"), earlier_version["PYTHONPATH"]):
        old = await IngestProcess.start_and_wait_until_listening(
            file, listen="127.0.0.1:0", environment=earlier_version
        )
    new = await IngestProcess.start_and_wait_until_listening(file, listen="127.0.0.1:0")

    def send(process, *event_ids):
        return [send_event(process.address, made.write_key.secret, id_)[1].get("error") for id_ in event_ids]

    ids = {name: [f"{name}{number}" for number in range(10)] for name in ("old", "new")}
    answers = await asyncio.gather(
        asyncio.to_thread(send, old, *ids["old"]), asyncio.to_thread(send, new, *ids["new"])
    )
    assert answers == [[None] * 10] * 2
    repeated = ["Duplicate event detected"]
    assert (await asyncio.to_thread(send, old, "new0"), await asyncio.to_thread(send, new, "old0")) == (
        repeated,
        repeated,
    )
    ports = open_ports(file)
    async with start_adapters([ports.queue]):
        cut = await ports.queue.rewrite_waiting(
            datetime.now(UTC) + timedelta(days=1), lambda arrival: arrival._replace(address=None)
        )
        assert cut == 20
        assert await asyncio.to_thread(send, old, "late", "old1") == [None, *repeated]
    ports, now = open_ports(file), datetime.now(UTC)
    async with start_adapters(ports.adapters_opened_by(Role.CONSUMER)):
        pipeline = build_ingest_pipeline(ports, load_settings_with_environment(file))
        await process_batches_until_queue_is_empty(pipeline, lambda _count: None)
        for process in (old, new):
            assert await process.terminate_or_kill_after_timeout() == 0
        rows = await ports.queue.ledger_rows(
            made.workspace.id, now - timedelta(days=1), now + timedelta(days=1)
        )
    assert (sum(row.stored for row in rows), sum(row.duplicate for row in rows)) == (21, 3)


async def test_redis_queue_of_both_versions_is_one_queue(redis_url):
    prefix, sender = uuid4().hex, WriteKeyClient()
    earlier = EarlierIngest(sender.workspace_id, sender.key_id, microseconds(NOON))
    queue = collect_plugins_into_registry().open_adapter(
        "queue", f"{redis_url}/0?prefix={prefix}&timeout_seconds=5", base_folder=Path()
    )
    client = redis.Redis.from_url(redis_url)
    await queue.start()
    try:
        assert earlier.offer_to_redis(client, prefix, "a", "b") == ["a", "b"]
        assert await queue.offer(sender.make_received_event("c")) is EnqueueResult.QUEUED
        assert await queue.offer(sender.make_received_event("a")) is EnqueueResult.DUPLICATE
        assert earlier.offer_to_redis(client, prefix, "c", "d") == ["d"]
        taken = await queue.take(10)
        assert [queued.arrival.event_id for queued in taken] == ["a", "b", "c", "d"]
        first = taken[0].arrival
        assert (first.body, first.received_at, first.headers) == (
            earlier.body_of("a"), NOON, {"accept-language": "pl"},
        )  # fmt: skip
        await queue.acknowledge([make_stored_event(queued) for queued in taken], [])
        row = await sender.only_ledger_row(queue)
        assert (row.received, row.stored, row.duplicate, row.in_flight) == (6, 4, 2, 0)
    finally:
        await queue.aclose()
        client.close()


async def test_running_ingest_works_on_a_newer_workspace_store_and_is_refused_at_a_restart(deployment):
    file, made = deployment
    child = await IngestProcess.start_and_wait_until_listening(file, listen="127.0.0.1:0")
    assert (await asyncio.to_thread(send_event, child.address, made.write_key.secret, "a"))[0] == 200
    with closing(sqlite3.connect(file.with_name("workspace.db"), timeout=30)) as store, store:
        store.execute("ALTER TABLE workspaces ADD COLUMN of_a_later_version TEXT")
        store.execute("CREATE TABLE of_a_later_version (id INTEGER)")
        store.execute("UPDATE alembic_version SET version_num = '9999'")
        store.execute("UPDATE change_counter SET value = value + 1")
    for event_id in ("b", "c"):
        answer = await asyncio.to_thread(send_event, child.address, made.write_key.secret, event_id)
        assert answer[0] == 200
    assert await child.terminate_or_kill_after_timeout() == 0
    with pytest.raises(StartupError, match="did not start"):
        await IngestProcess.start_and_wait_until_listening(file, listen="127.0.0.1:0")
