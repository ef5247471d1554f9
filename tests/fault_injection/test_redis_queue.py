"""F1, F2, F8 and F12 on Redis: hosts and server are killed, hung and filled under load; the books agree."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.ingest.ingest_process import IngestProcess
from service_core.access.api_keys import create_workspace_with_keys
from service_core.kernel.clock import system_clock
from service_core.testing.durability_client import HttpConnection, SentEvents, send_events_until_stopped
from service_core.testing.queue.kit import make_stored_event
from service_core.testing.reserved_port import reserve_loopback_port
from tests.fixtures.cpu_wait import Stopwatch

CLIENTS = 12
BETWEEN_FAULTS = 100
"""Acknowledged events before the next fault."""

FAILS_WITHIN_SECONDS = 2
BACK_WITHIN_SECONDS = 100
"""Against hanging."""


class FailureRecordingConnection(HttpConnection):
    """A connection that notes what an answer that was no success said, and how long it took."""

    def __init__(self, host, failures):
        super().__init__(host.address)
        self.host, self.failures = host, failures

    async def post(self, path, body, headers, *, method="POST"):
        watch = Stopwatch(self.host.process.pid)
        reply = await super().post(path, body, headers, method=method)
        if reply.status != 200:
            self.failures.append((reply.status, reply.body, watch.seconds()))
        return reply


class IngestCluster:
    """Ingest hosts on one Redis, with a client's books about them."""

    def __init__(self, config: Path, ports: Ports, workspaces, keys) -> None:
        self.config, self.ports, self.workspaces, self.keys = config, ports, workspaces, keys
        self.books = SentEvents()
        self.failures: list[tuple] = []

    async def host(self, **options):
        listen = (
            f"127.0.0.1:{reserve_loopback_port(self)}"  # the next one at its address may take a while to come
        )
        return await IngestProcess.start_and_wait_until_listening(self.config, **{"listen": listen} | options)

    @asynccontextmanager
    async def load(self, hosts):
        """Clients that send to all hosts until the end of the context, and finish what they began."""
        stop, numbers = asyncio.Event(), count()

        def sending(number):
            connection = FailureRecordingConnection(hosts[number % len(hosts)], self.failures)
            key = self.keys[number % len(self.keys)]
            return send_events_until_stopped(self.books, connection, key, lambda: f"e{next(numbers)}", stop)

        senders = [asyncio.create_task(sending(number)) for number in range(CLIENTS)]
        yield
        stop.set()
        await asyncio.gather(*senders)

    async def progress(self, events=BETWEEN_FAULTS, seconds=100):
        seen = len(self.books.acknowledged)
        async with asyncio.timeout(seconds):
            while len(self.books.acknowledged) < seen + events:
                await asyncio.sleep(0.005)

    async def ledger(self):
        now = datetime.now(UTC)
        return [
            row
            for workspace in self.workspaces
            for row in await self.ports.queue.ledger_rows(
                workspace.id, now - timedelta(hours=2), now + timedelta(hours=1)
            )
        ]

    async def check(self):
        """Nothing lost, nothing doubled, everything counted; then the queue is emptied and still balances."""
        taken = await self.ports.queue.take(1_000_000)
        assert self.books.unexpected_replies == []
        ids = [queued.arrival.event_id for queued in taken]
        assert self.books.compare_with_stored(ids) == (frozenset(), frozenset(), frozenset())
        assert len({queued.seq for queued in taken}) == len(taken)
        rows = await self.ledger()
        assert all(row.is_balanced for row in rows)
        assert sum(row.in_flight for row in rows) == len(self.books.acknowledged)
        await self.ports.queue.acknowledge([make_stored_event(queued) for queued in taken], [])
        rows = await self.ledger()
        assert all(row.is_balanced for row in rows)
        assert (sum(row.stored for row in rows), sum(row.in_flight for row in rows)) == (len(taken), 0)


@pytest.fixture
async def cluster(redis_server, tmp_path):
    config = tmp_path / "touchpoint.toml"
    config.write_text(f'[ingest]\nqueue = "{redis_server.url}/0?reclaim_seconds=0.1"\n')
    ports = Ports(
        load_settings_with_environment(config), tmp_path, load_installed_registry_once(), system_clock
    )
    async with start_adapters([ports.workspace, ports.queue]):
        initialized_deployment = [
            await create_workspace_with_keys(ports.workspace.credentials, datetime.now(UTC), name=f"W{n}")
            for n in range(CLIENTS)
        ]
        yield IngestCluster(
            config,
            ports,
            [f.workspace for f in initialized_deployment],
            [f.write_key.secret for f in initialized_deployment],
        )


@pytest.mark.faults
@pytest.mark.timeout(450)
async def test_killed_ingest_hosts_lose_and_duplicate_no_acknowledged_event(cluster, is_full_run):
    hosts = [await cluster.host(), await cluster.host()]
    async with cluster.load(hosts):
        for kill in range(20 if is_full_run else 2):
            await cluster.progress(BETWEEN_FAULTS + 7 * kill)
            victim = kill % 2
            hosts[victim].process.kill()
            await hosts[victim].wait_for_exit_code_and_output()
            hosts[victim] = await cluster.host(listen=hosts[victim].address)
        await cluster.progress()
    for host in hosts:
        assert await host.terminate_or_kill_after_timeout() == 0
    await cluster.check()


@pytest.mark.faults
@pytest.mark.timeout(450)
async def test_killed_redis_loses_no_acknowledged_event_and_fails_others_immediately(
    cluster, redis_server, is_full_run
):
    hosts = [await cluster.host(), await cluster.host()]
    async with cluster.load(hosts):
        for kill in range(20 if is_full_run else 3):
            await cluster.progress(BETWEEN_FAULTS + 7 * kill)
            redis_server.kill()
            redis_server.start()
        await cluster.progress()
    for host in hosts:
        assert await host.terminate_or_kill_after_timeout() == 0
    assert {(status, body["error"], body["details"]) for status, body, _ in cluster.failures} <= {
        (500, "Failed to enqueue event", "queue")
    }
    assert max((seconds for *_, seconds in cluster.failures), default=0) < FAILS_WITHIN_SECONDS
    await cluster.check()


@pytest.mark.faults
@pytest.mark.timeout(450)
@pytest.mark.parametrize("fault", ["hung", "full", "read-only"])
async def test_read_only_redis_is_reported_within_two_seconds_and_used_after_recovery(
    cluster, redis_server, fault, is_full_run
):
    begin, end = {
        "hung": (redis_server.suspend, redis_server.resume),
        "full": (
            lambda: redis_server.first_line_of_reply("CONFIG", "SET", "maxmemory", "1"),
            lambda: redis_server.first_line_of_reply("CONFIG", "SET", "maxmemory", "0"),
        ),
        "read-only": (
            lambda: redis_server.first_line_of_reply("REPLICAOF", "127.0.0.1", "1"),
            lambda: redis_server.first_line_of_reply("REPLICAOF", "NO", "ONE"),
        ),
    }[fault]
    hosts = [await cluster.host(), await cluster.host()]
    async with cluster.load(hosts):
        for _ in range(5 if is_full_run else 1):
            await cluster.progress()
            failed = len(cluster.failures)
            begin()
            async with asyncio.timeout(100):
                while len(cluster.failures) < failed + CLIENTS:
                    await asyncio.sleep(0.01)
            end()
            await cluster.progress(seconds=BACK_WITHIN_SECONDS)
    for host in hosts:
        assert await host.terminate_or_kill_after_timeout() == 0
    assert {(status, body["error"]) for status, body, _ in cluster.failures} == {
        (500, "Failed to enqueue event")
    }
    assert max(seconds for *_, seconds in cluster.failures) < FAILS_WITHIN_SECONDS
    await cluster.check()


@pytest.mark.faults
async def test_full_redis_can_be_drained_by_the_consumer(cluster, redis_server):
    host = await cluster.host()
    async with cluster.load([host]):
        await cluster.progress()
    await host.terminate_or_kill_after_timeout()
    assert redis_server.first_line_of_reply("CONFIG", "SET", "maxmemory", "1") == "+OK"
    await cluster.check()
    assert (await cluster.ports.queue.state()).waiting_count == 0


@pytest.mark.faults
async def test_one_id_sent_1000_times_to_all_hosts_is_one_event_per_workspace(cluster, is_full_run):
    times, keys = (500 if is_full_run else 150), cluster.keys[:2]
    async with AsyncExitStack() as stack:
        hosts = [await cluster.host() for _ in range(4 if is_full_run else 2)]
        for host in hosts:
            stack.push_async_callback(host.terminate_or_kill_after_timeout)

        async def send(number):
            connection = HttpConnection(hosts[number % len(hosts)].address)
            key = keys[number // len(hosts) % 2]
            try:
                body = b'{"event":"purchase","user_id":"u","event_id":"order_1"}'
                reply = await connection.post("/track", body, {"X-API-Key": key})
            finally:
                connection.close()
            return key, reply.status, reply.body["success"]

        answers = await asyncio.gather(*(send(number) for number in range(2 * times)))
    assert {status for _, status, _ in answers} == {200}
    assert [sum(success for k, _, success in answers if k == key) for key in keys] == [1, 1]
    assert len(await cluster.ports.queue.take(10)) == 2
