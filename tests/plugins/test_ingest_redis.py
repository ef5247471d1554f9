"""The queue in Redis: shared by processes, bounded, durable, and quick to say that it cannot."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from plugins.ingest_redis import consumer, ledger
from plugins.ingest_redis.adapter import RedisIngestQueue
from plugins.ingest_redis.server import FORMAT_VERSION
from service_core.analytics.ports import StoreUnavailable
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.models import IngestEndpoint, QuarantinedEvent, RejectionReason
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult
from service_core.kernel.errors import StartupError
from service_core.testing.queue.kit import NOON, WriteKeyClient, make_stored_event
from service_core.testing.redis_server import RedisServer, find_server_binary

REGISTRY = collect_plugins_into_registry()
HOUR = timedelta(hours=1)


@asynccontextmanager
async def open_queue(url, **given):
    given = {"timeout_seconds": 5, "state_timeout_seconds": 2} | given
    options = "&".join(f"{name}={value}" for name, value in given.items())
    opened = REGISTRY.open_adapter("queue", f"{url}/0?{options}", base_folder=Path())
    await opened.start()
    try:
        yield opened
    finally:
        await opened.aclose()


@pytest.fixture(autouse=True)
def long_read_timeout(monkeypatch):
    """A test asks for the ledger of seven weeks, on whatever machine."""
    monkeypatch.setattr(ledger, "LEDGER_TIMEOUT_SECONDS", 30.0)


@pytest.fixture
def sender():
    return WriteKeyClient()


@pytest.fixture
def prefix():
    return uuid4().hex


async def offer_events(opened: RedisIngestQueue, sender: WriteKeyClient, number: int) -> None:
    answers = await asyncio.gather(
        *(opened.offer(sender.make_received_event(f"e{n}")) for n in range(number))
    )
    assert set(answers) == {EnqueueResult.QUEUED}


async def test_two_consumers_never_take_the_same_event(redis_url, prefix, sender):
    async with open_queue(redis_url, prefix=prefix) as one, open_queue(redis_url, prefix=prefix) as two:
        await offer_events(one, sender, 100)
        hands = [await one.take(40), await two.take(40), await one.take(60)]
        ids = [queued.arrival.event_id for queued in hands[1] + hands[2]]
        assert len(ids) == len(set(ids)) == 100
        await one.acknowledge([make_stored_event(queued) for queued in hands[2]], [])
        await two.acknowledge([make_stored_event(queued) for queued in hands[1]], [])
        assert (await sender.only_ledger_row(one)).stored == 100


async def test_batch_of_a_dead_consumer_is_reclaimed_once(redis_url, prefix, sender):
    async with (
        open_queue(redis_url, prefix=prefix) as dead,
        open_queue(redis_url, prefix=prefix, reclaim_seconds=1000) as patient,
        open_queue(redis_url, prefix=prefix, reclaim_seconds=0.2) as alive,
    ):
        await offer_events(dead, sender, 10)
        in_hand = await dead.take(10)
        assert await patient.take(10) == []
        async with asyncio.timeout(30):
            while not (taken := await alive.take(10)):
                await asyncio.sleep(0.02)
        assert taken == in_hand
        await alive.acknowledge([make_stored_event(queued) for queued in taken], [])
        await dead.acknowledge([make_stored_event(queued) for queued in in_hand], [])
        row = await sender.only_ledger_row(alive)
        assert (row.stored, row.in_flight, row.is_balanced) == (10, 0, True)


async def test_stopped_consumer_is_removed_unless_it_has_a_pending_batch(redis_server, prefix, sender):
    async with open_queue(redis_server.url, prefix=prefix, reclaim_seconds=0.05) as first:
        await offer_events(first, sender, 3)
        taken = await first.take(2)
        async with open_queue(redis_server.url, prefix=prefix) as second:
            assert len(await second.take(10)) == 1
        assert (await consumer_names(first), len(taken)) == (2, 2)
        async with asyncio.timeout(30):
            while len(await first.take(10)) < 3:
                await asyncio.sleep(0.02)
        await first.acknowledge([make_stored_event(queued) for queued in await first.take(10)], [])
    async with open_queue(redis_server.url, prefix=prefix) as third:
        assert await consumer_names(third) == 1, "the silent one goes after a day"


async def consumer_names(opened: RedisIngestQueue) -> int:
    return len(await opened._redis.xinfo_consumers(opened._keys.stream, "store"))


async def test_full_stream_refuses_new_events_and_keeps_queued_ones(redis_url, prefix, sender):
    async with open_queue(redis_url, prefix=prefix, max_queued=10) as opened:
        answers = await asyncio.gather(
            *(opened.offer(sender.make_received_event(f"e{n}")) for n in range(15)), return_exceptions=True
        )
        assert [isinstance(answer, EnqueueFailed) for answer in answers] == [False] * 10 + [True] * 5
        assert await opened.offer(sender.make_received_event("e0")) is EnqueueResult.DUPLICATE
        taken = await opened.take(100)
        assert len(taken) == 10
        await opened.acknowledge([make_stored_event(queued) for queued in taken[:1]], [])
        assert await opened.offer(sender.make_received_event("e14")) is EnqueueResult.QUEUED, (
            "a refused event's id is free"
        )
        row = await sender.only_ledger_row(opened)
        assert (row.received, row.duplicate, row.stored, row.in_flight) == (12, 1, 1, 10)


async def test_process_with_too_many_undecided_offers_refuses_at_once(redis_url, prefix, sender):
    async with open_queue(redis_url, prefix=prefix, max_pending=10) as opened:
        answers = await asyncio.gather(
            *(opened.offer(sender.make_received_event(f"e{n}")) for n in range(15)), return_exceptions=True
        )
    assert sum(isinstance(answer, EnqueueFailed) for answer in answers) == 5


async def test_quarantined_event_is_kept_raw_and_can_be_replayed_under_its_sequence(
    redis_url, prefix, sender
):
    async with open_queue(redis_url, prefix=prefix) as opened:
        await offer_events(opened, sender, 3)
        taken = await opened.take(10)
        for again in range(2):
            await opened.acknowledge([], [QuarantinedEvent(queued, "no number") for queued in taken])
            assert await opened.take(10) == []
            assert await opened.replay(sender.workspace_id) == 3
            assert await opened.take(10) == taken, again
        await opened.acknowledge([make_stored_event(queued) for queued in taken], [])
        await opened.acknowledge([make_stored_event(queued) for queued in taken], [])
        row = await sender.only_ledger_row(opened)
        assert (row.received, row.stored, row.quarantined, row.in_flight) == (3, 3, 0, 0)


async def test_rewrite_of_old_events_reads_no_further_than_the_first_younger_page(
    redis_url, prefix, sender, monkeypatch
):
    monkeypatch.setattr(consumer, "_REPLAY_BATCH_SIZE", 2)
    async with open_queue(redis_url, prefix=prefix) as opened:
        for number in range(12):
            received_at = NOON + number * 24 * HOUR
            await opened.offer(sender.make_received_event(f"e{number}", received_at=received_at))
        redis, pages = opened._consumer._redis, []
        read = redis.xrange
        monkeypatch.setattr(
            redis, "xrange", lambda *given, **named: pages.append(named) or read(*given, **named)
        )
        cutoff = NOON + 3 * 24 * HOUR
        assert await opened.rewrite_waiting(cutoff, lambda event: event._replace(body=b"{}")) == 3
        assert len(pages) == 3
        assert await opened.rewrite_waiting(cutoff, lambda event: event._replace(address=None)) == 3
        events = {queued.arrival.event_id: queued.arrival for queued in await opened.take(20)}
        assert [id_ for id_, event in events.items() if event.address is None] == ["e0", "e1", "e2"]


async def test_scripts_and_groups_are_recreated_after_a_flush(redis_server, sender):
    async with open_queue(redis_server.url) as opened:
        await offer_events(opened, sender, 1)
        (before,) = await opened.take(10)
        for command in (("SCRIPT", "FLUSH"), ("FLUSHALL",)):
            assert redis_server.first_line_of_reply(*command) == "+OK"
        await offer_events(opened, sender, 1)
        (after,) = await opened.take(10)
        assert after.seq > before.seq, "the sequence never goes back"
        await opened.acknowledge([make_stored_event(after)], [])


async def test_expired_offer_takes_no_effect_when_a_suspended_server_resumes(redis_server, sender):
    async with open_queue(redis_server.url, timeout_seconds=2) as opened:
        await offer_events(opened, sender, 1)
        redis_server.suspend()
        async with asyncio.timeout(60):
            answers = await asyncio.gather(
                *(opened.offer(sender.make_received_event(f"hung{n}")) for n in range(5)),
                return_exceptions=True,
            )
        assert {type(answer) for answer in answers} == {EnqueueFailed}
        redis_server.resume()
        again = await asyncio.gather(
            *(opened.offer(sender.make_received_event(f"hung{n}")) for n in range(5))
        )
        assert set(again) == {EnqueueResult.QUEUED}
        assert (await sender.only_ledger_row(opened)).received == 6


async def test_offer_deadline_is_computed_after_start_and_clock_changes(redis_url, prefix, sender):
    async with open_queue(redis_url, prefix=prefix) as opened:
        for wrong_by in (-3600, 3600):
            await opened.offer(sender.make_received_event(f"before {wrong_by}"))
            opened._writer._server_ahead += wrong_by
            assert await opened.offer(sender.make_received_event(f"after {wrong_by}")) is EnqueueResult.QUEUED


async def test_state_is_cached_and_ledger_fails_while_the_server_is_unavailable(redis_server, sender):
    async with open_queue(redis_server.url) as opened:
        await opened.state()
        redis_server.kill()
        async with asyncio.timeout(50):  # and not 50 glances of 2 seconds
            states = [await opened.state() for _ in range(50)]
        assert len({state.oldest_received_at for state in states}) == 1
        assert states[0].oldest_received_at is not None, "nothing received since then counts as stored"
        with pytest.raises(StoreUnavailable):
            await opened.ledger_rows(sender.workspace_id, NOON, NOON + HOUR)
        redis_server.start()
        async with asyncio.timeout(30):
            while (await opened.state()).oldest_received_at is not None:
                await asyncio.sleep(0.05)


async def test_process_started_without_the_server_recovers_when_it_is_back(redis_server, sender):
    redis_server.kill()
    async with open_queue(redis_server.url) as opened:
        with pytest.raises(EnqueueFailed):
            await opened.offer(sender.make_received_event())
        with pytest.raises(StoreUnavailable):
            await opened.state()
        await opened.count_rejected(
            sender.workspace_id, sender.key_id, IngestEndpoint.TRACK, RejectionReason.ENQUEUE_FAILED, NOON
        )
        redis_server.start()
        await offer_events(opened, sender, 1)
        row = await sender.only_ledger_row(opened)
        assert (row.received, row.rejected, row.in_flight) == (2, 1, 1), "the count waited too"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"appendonly": "no"}, "appendonly yes"),
        ({"appendfsync": "everysec"}, "appendfsync everysec"),
        ({"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}, "noeviction"),
    ],
)
async def test_unsafe_server_persistence_stops_the_start(tmp_path, options, words):
    binary = find_server_binary() or pytest.skip("no server is installed")
    server = RedisServer(binary, tmp_path, **options)
    server.start()
    try:
        with pytest.raises(StartupError, match=words):
            async with open_queue(server.url):
                pass
    finally:
        server.kill()


async def test_weaker_persistence_can_be_accepted(tmp_path, sender):
    server = RedisServer(
        find_server_binary() or pytest.skip("no server is installed"), tmp_path, appendfsync="everysec"
    )
    server.start()
    try:
        async with open_queue(server.url, fsync="everysec") as opened:
            await offer_events(opened, sender, 2)
            assert [queued.arrival.event_id for queued in await opened.take(10)] == ["e0", "e1"]
    finally:
        server.kill()


@pytest.mark.parametrize(
    "url",
    [
        "redis:///relative",
        "redis://localhost/name",
        "redis://localhost/0?bond=5",
        "redis://localhost/0?max_queued=0",
    ],
)
def test_invalid_url_stops_the_start(url):
    with pytest.raises(StartupError):
        REGISTRY.open_adapter("queue", url, base_folder=Path())


NEWER_QUEUE = "The Redis queue of ingest.queue was written by another version of Touchpoint."


async def test_queue_of_a_newer_version_is_refused_by_start_check_and_readiness(redis_url, prefix):
    async with open_queue(redis_url, prefix=prefix) as queue:
        await queue.check_stored_version()
        key = f"{prefix}:version"
        assert await queue._redis.get(key) == b"%d" % FORMAT_VERSION
        await queue._redis.set(key, FORMAT_VERSION + 1)
        closed = REGISTRY.open_adapter("queue", f"{redis_url}/0?prefix={prefix}", base_folder=Path())
        for refused in (queue.check_stored_version, closed.check, closed.start):
            with pytest.raises(StartupError, match=NEWER_QUEUE):
                await refused()
        assert await queue._redis.get(key) == b"%d" % (FORMAT_VERSION + 1)


async def test_queue_without_a_version_gets_the_first_one_at_start(redis_url, prefix, sender):
    async with open_queue(redis_url, prefix=prefix) as queue:
        await offer_events(queue, sender, 1)
        await queue._redis.delete(f"{prefix}:version")
    async with open_queue(redis_url, prefix=prefix) as queue:
        assert await queue._redis.get(f"{prefix}:version") == b"1"
        assert len(await queue.take(10)) == 1


async def test_version_of_a_server_that_is_away_is_left_to_the_next_start():
    queue = REGISTRY.open_adapter("queue", "redis://127.0.0.1:1/0", base_folder=Path())
    await queue.start()
    with pytest.raises(StoreUnavailable):
        await queue.check_stored_version()
    await queue.aclose()
