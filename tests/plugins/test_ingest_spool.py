"""The embedded queue: what is acknowledged is durable, once, and counted."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins import ingest_spool
from plugins.ingest_spool.adapter import SpoolQueue
from plugins.ingest_spool.claims import claim_id
from plugins.ingest_spool.settings import SpoolSettings
from service_core.extensions.registry import collect_plugins_into_registry
from service_core.ingestion.models import (
    Event,
    IngestEndpoint,
    LedgerRow,
    QuarantinedEvent,
    QueuedEvent,
    ReceivedEvent,
    RejectionReason,
)
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult
from service_core.kernel.errors import StartupError

NOON = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)
WORKSPACE, OTHER, KEY = uuid4(), uuid4(), uuid4()


def make_arrival(
    event_id: str = "order_1", *, at: datetime = NOON, workspace: UUID = WORKSPACE, **given
) -> ReceivedEvent:
    return ReceivedEvent(
        **{
            "workspace_id": workspace,
            "key_id": KEY,
            "channel": IngestEndpoint.TRACK,
            "event_id": event_id,
            "claimed": True,
            "received_at": at,
            "body": b'{"event":"purchase","user_id":"u"}',
            "user_agent": "Mozilla/5.0",
            "address": "203.0.113.7",
            "headers": {"accept-language": "de"},
        }
        | given
    )


def stored_event(queued: QueuedEvent, **given) -> Event:
    a = queued.arrival
    return Event(
        **{
            "event_id": a.event_id,
            "event_name": "purchase",
            "timestamp": a.received_at,
            "received_at": a.received_at,
            "visitor_id": "v",
            "session_id": "s",
            "workspace_id": a.workspace_id,
            "seq": queued.seq,
        }
        | given
    )


@asynccontextmanager
async def open_spool(folder: Path, **given):
    queue = SpoolQueue(SpoolSettings(url="spool:///ingest.db", path=folder / "ingest.db", **given))
    await queue.start()
    try:
        yield queue
    finally:
        await queue.aclose()


async def read_only_ledger_row(queue: SpoolQueue, workspace: UUID = WORKSPACE) -> LedgerRow:
    (row,) = await queue.ledger_rows(workspace, NOON - timedelta(days=40), NOON + timedelta(days=40))
    return row


async def test_accepted_event_round_trips(tmp_path: Path) -> None:
    sent = make_arrival("ürder_\x00_1", user_agent="Ä", body=b' {"event":"x"} ')
    bare = make_arrival("b", claimed=False, user_agent=None, address=None, headers={})
    async with open_spool(tmp_path) as queue:
        assert await queue.offer(sent) is EnqueueResult.QUEUED
        assert await queue.offer(bare) is EnqueueResult.QUEUED
        first, second = await queue.take(10)
    assert (first.arrival, second.arrival) == (sent, bare)
    assert first.seq < second.seq


async def test_one_of_fifty_offers_of_one_id_succeeds(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        answers = await asyncio.gather(*(queue.offer(make_arrival()) for _ in range(50)))
        assert sorted(answers) == [EnqueueResult.DUPLICATE] * 49 + [EnqueueResult.QUEUED]
        assert len(await queue.take(100)) == 1
        row = await read_only_ledger_row(queue)
    assert (row.received, row.duplicate, row.in_flight, row.is_balanced) == (50, 49, 1, True)


async def test_two_processes_claim_one_id_once(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as one, open_spool(tmp_path) as two:
        answers = await asyncio.gather(
            *(queue.offer(make_arrival(f"e{i}")) for i in range(200) for queue in (one, two))
        )
    assert answers.count(EnqueueResult.QUEUED) == answers.count(EnqueueResult.DUPLICATE) == 200


async def test_same_id_in_two_workspaces_is_two_events(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        assert await queue.offer(make_arrival()) is EnqueueResult.QUEUED
        assert await queue.offer(make_arrival(workspace=OTHER)) is EnqueueResult.QUEUED


async def test_generated_id_is_never_a_duplicate(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        assert await queue.offer(make_arrival(claimed=False)) is EnqueueResult.QUEUED
        assert await queue.offer(make_arrival(claimed=False)) is EnqueueResult.QUEUED


async def test_event_id_is_claimed_for_seven_days(tmp_path: Path) -> None:
    week = timedelta(days=7)
    async with open_spool(tmp_path) as queue:
        offers = [
            await queue.offer(make_arrival(at=NOON + later))
            for later in (
                timedelta(0),
                week - timedelta(seconds=1),
                week,
                week + timedelta(seconds=1),
                2 * week,
            )
        ]
    assert offers == [
        EnqueueResult.QUEUED,
        EnqueueResult.DUPLICATE,
        EnqueueResult.DUPLICATE,
        EnqueueResult.QUEUED,
        EnqueueResult.DUPLICATE,
    ]


async def test_expired_claims_are_deleted_when_later_events_are_acknowledged(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        await asyncio.gather(*(queue.offer(make_arrival(f"e{i}")) for i in range(90)))
        await queue.offer(make_arrival("later", at=NOON + timedelta(days=8)))
        await queue.acknowledge([stored_event(q) for q in await queue.take(100)], [])
    with sqlite3.connect(tmp_path / "ingest.db") as file:
        claims = file.execute("SELECT id FROM claim").fetchall()
    assert claims == [(claim_id(WORKSPACE.bytes, "later"),)]
    file.close()


async def test_ledger_balances_through_every_state(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        await asyncio.gather(*(queue.offer(make_arrival(f"e{i}")) for i in range(5)))
        await queue.offer(make_arrival("e0"))
        await queue.count_rejected(WORKSPACE, KEY, IngestEndpoint.TRACK, RejectionReason.NO_BODY, NOON)
        await queue.count_rejected(WORKSPACE, KEY, IngestEndpoint.TRACK, RejectionReason.INVALID_JSON, NOON)
        await queue.offer(make_arrival("e5"))
        bot, late, poison, *rest = await queue.take(10)
        await queue.acknowledge(
            [
                stored_event(bot, is_bot=True),
                stored_event(late, timestamp=NOON - timedelta(hours=24, microseconds=1)),
                stored_event(rest[0], timestamp=NOON - timedelta(hours=24)),
            ],
            [QuarantinedEvent(poison, "bad")],
        )
        row = await read_only_ledger_row(queue)
        assert row.rejected_by_reason == {RejectionReason.NO_BODY: 1, RejectionReason.INVALID_JSON: 1}
        assert (row.received, row.stored, row.duplicate, row.quarantined, row.in_flight) == (9, 3, 1, 1, 2)
        assert (row.late, row.bots, row.is_balanced) == (1, 1, True)
        assert row.hour == NOON.replace(minute=0)


async def test_repeated_acknowledgement_counts_once(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        await queue.offer(make_arrival())
        (waiting,) = await queue.take(10)
        await queue.acknowledge([stored_event(waiting)], [])
        await queue.acknowledge([stored_event(waiting)], [])
        row = await read_only_ledger_row(queue)
    assert (row.received, row.stored, row.in_flight) == (1, 1, 0)


async def test_quarantined_event_can_be_replayed_under_its_sequence(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        await queue.offer(make_arrival())
        (waiting,) = await queue.take(10)
        await queue.acknowledge([], [QuarantinedEvent(waiting, "no number")])
        assert await queue.take(10) == []
        assert await queue.replay(WORKSPACE) == 1
        assert await queue.take(10) == [waiting]
        row = await read_only_ledger_row(queue)
    assert (row.quarantined, row.in_flight, row.is_balanced) == (0, 1, True)


async def test_replayed_event_is_one_waiting_event_whatever_was_stored_of_its_batch(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        await asyncio.gather(*(queue.offer(make_arrival(f"e{i}")) for i in range(5)))
        taken = await queue.take(10)
        await queue.acknowledge(
            [stored_event(each) for each in taken if each is not taken[3]], [QuarantinedEvent(taken[3], "x")]
        )
        assert (await queue.state()).waiting_count == 0
        assert await queue.replay(WORKSPACE) == 1
        assert (await queue.state()).waiting_count == 1
        assert await queue.take(10) == [taken[3]]


async def test_rejection_count_is_durable_without_a_following_event(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue, open_spool(tmp_path) as reader, asyncio.timeout(30):
        await queue.count_rejected(WORKSPACE, KEY, IngestEndpoint.TRACK, RejectionReason.RATE_LIMITED, NOON)
        while not (rows := await reader.ledger_rows(WORKSPACE, NOON - timedelta(hours=1), NOON)):
            await asyncio.sleep(0.01)
    (row,) = rows
    assert (row.received, row.rejected_by_reason) == (1, {RejectionReason.RATE_LIMITED: 1})


async def test_sequence_is_never_given_twice(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        await queue.offer(make_arrival("a"))
        (first,) = await queue.take(1)
        await queue.acknowledge([stored_event(first)], [])
    async with open_spool(tmp_path) as queue:
        await queue.offer(make_arrival("b"))
        (second,) = await queue.take(1)
    assert second.seq > first.seq


async def test_failed_commit_stores_nothing_and_releases_claims(tmp_path: Path) -> None:
    async with open_spool(tmp_path, busy_seconds=0.05) as queue:
        with sqlite3.connect(tmp_path / "ingest.db", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            failures = await asyncio.gather(
                *(queue.offer(make_arrival(f"e{i}")) for i in range(20)), return_exceptions=True
            )
            other.execute("ROLLBACK")
        other.close()
        assert {type(f) for f in failures} == {EnqueueFailed}
        again = await asyncio.gather(*(queue.offer(make_arrival(f"e{i}")) for i in range(20)))
        assert set(again) == {EnqueueResult.QUEUED}
        assert (await read_only_ledger_row(queue)).received == 20


async def test_rejections_counted_while_the_file_is_locked_come_with_the_next_commit(tmp_path: Path) -> None:
    async with open_spool(tmp_path, busy_seconds=0.05) as queue:
        with closing(sqlite3.connect(tmp_path / "ingest.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for _ in range(2):
                await queue.count_rejected(
                    WORKSPACE, KEY, IngestEndpoint.TRACK, RejectionReason.NO_BODY, NOON
                )
            with pytest.raises(EnqueueFailed):
                await queue.offer(make_arrival("a"))
            other.execute("ROLLBACK")
        assert await queue.offer(make_arrival("b")) is EnqueueResult.QUEUED
        row = await read_only_ledger_row(queue)
    assert (row.received, row.rejected_by_reason) == (3, {RejectionReason.NO_BODY: 2})


async def test_offer_whose_caller_went_away_holds_up_no_other(tmp_path: Path) -> None:
    async with asyncio.timeout(30), open_spool(tmp_path) as queue:
        gone, other = (asyncio.create_task(queue.offer(make_arrival(name))) for name in ("gone", "other"))
        await asyncio.sleep(0)
        gone.cancel()
        assert await other is EnqueueResult.QUEUED
        assert gone.cancelled()
        assert await queue.offer(make_arrival("later")) is EnqueueResult.QUEUED


async def test_unstorable_event_fails_alone(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        good, bad = await asyncio.gather(
            queue.offer(make_arrival("good")), queue.offer(make_arrival("\ud800")), return_exceptions=True
        )
    assert good is EnqueueResult.QUEUED
    assert isinstance(bad, EnqueueFailed)


async def test_offer_beyond_the_bound_fails_immediately(tmp_path: Path) -> None:
    async with open_spool(tmp_path, max_queued=10) as queue:
        answers = await asyncio.gather(
            *(queue.offer(make_arrival(f"e{i}")) for i in range(15)), return_exceptions=True
        )
    assert [isinstance(a, EnqueueFailed) and a.detail for a in answers] == [False] * 10 + ["queue"] * 5


async def test_pending_offers_are_committed_on_close(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        pending = [asyncio.create_task(queue.offer(make_arrival(f"e{i}"))) for i in range(300)]
        await asyncio.sleep(0)
    assert {await p for p in pending} == {EnqueueResult.QUEUED}


async def test_unwritable_counts_do_not_block_close(tmp_path: Path) -> None:
    (tmp_path / "ingest.db").touch()
    with closing(sqlite3.connect(tmp_path / "ingest.db", isolation_level=None)) as other:
        async with asyncio.timeout(30), open_spool(tmp_path, busy_seconds=0.05) as queue:
            other.execute("BEGIN IMMEDIATE")
            await queue.count_rejected(WORKSPACE, KEY, IngestEndpoint.TRACK, RejectionReason.NO_BODY, NOON)
    async with open_spool(tmp_path) as queue:
        assert await queue.ledger_rows(WORKSPACE, NOON.replace(minute=0), NOON + timedelta(hours=1)) == []


async def test_state_reports_the_queue_lag(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        empty = await queue.state()
        assert (empty.waiting_count, empty.oldest_received_at) == (0, None)
        await queue.offer(make_arrival("a"))
        await queue.offer(make_arrival("b", at=NOON + timedelta(minutes=1)))
        behind = await queue.state()
        assert (behind.waiting_count, behind.oldest_received_at) == (2, NOON)


async def test_ledger_is_read_by_hours_and_workspace(tmp_path: Path) -> None:
    async with open_spool(tmp_path) as queue:
        await queue.offer(make_arrival())
        await queue.offer(make_arrival(workspace=OTHER))
        hour = NOON.replace(minute=0)
        assert len(await queue.ledger_rows(WORKSPACE, hour, NOON)) == 1
        assert await queue.ledger_rows(WORKSPACE, NOON, NOON + timedelta(hours=1)) == []
        assert await queue.ledger_rows(WORKSPACE, hour - timedelta(hours=1), hour) == []


def test_adapter_is_selected_by_its_url(tmp_path: Path) -> None:
    registry = collect_plugins_into_registry([("spool", ingest_spool)], discover_entry_points=False)
    assert isinstance(
        registry.open_adapter("queue", "spool:///ingest.db?max_queued=5", base_folder=tmp_path), SpoolQueue
    )
    with pytest.raises(StartupError, match="bond"):
        registry.open_adapter("queue", "spool:///ingest.db?bond=5", base_folder=tmp_path)


@settings(max_examples=25)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("offer"), st.lists(st.integers(0, 6), min_size=1, max_size=150)),
            st.tuples(st.just("reject"), st.sampled_from(list(RejectionReason))),
            st.tuples(st.just("settle"), st.integers(1, 5)),
            st.tuples(st.just("quarantine"), st.integers(1, 2)),
            st.tuples(st.just("replay"), st.none()),
            st.tuples(st.just("reopen"), st.none()),
        ),
        max_size=12,
    )
)
def test_ledger_balances_after_random_operations(steps, tmp_path_factory) -> None:
    async def play() -> None:
        folder = tmp_path_factory.mktemp("spool")
        queue = SpoolQueue(SpoolSettings(url="spool:///x", path=folder / "x.db"))
        await queue.start()
        known: set[int] = set()
        received = duplicate = 0
        for what, how in steps:
            if what == "offer":
                answers = await asyncio.gather(*(queue.offer(make_arrival(f"e{i}")) for i in how))
                assert answers.count(EnqueueResult.QUEUED) == len(set(how) - known)
                known |= set(how)
                received += len(how)
                duplicate += answers.count(EnqueueResult.DUPLICATE)
            elif what == "reject":
                await queue.count_rejected(WORKSPACE, KEY, IngestEndpoint.TRACK, how, NOON)
                received += 1
            elif what == "settle":
                await queue.acknowledge([stored_event(q) for q in await queue.take(how)], [])
            elif what == "quarantine":
                await queue.acknowledge([], [QuarantinedEvent(q, "r") for q in await queue.take(how)])
            elif what == "replay":
                await queue.replay(WORKSPACE)
            else:
                await queue.aclose()
                queue = SpoolQueue(SpoolSettings(url="spool:///x", path=folder / "x.db"))
                await queue.start()
            rows = await queue.ledger_rows(WORKSPACE, NOON - timedelta(hours=1), NOON)
            assert all(row.is_balanced for row in rows)
        await queue.aclose()
        queue = SpoolQueue(SpoolSettings(url="spool:///x", path=folder / "x.db"))
        rows = await queue.ledger_rows(WORKSPACE, NOON - timedelta(hours=1), NOON)
        assert (sum(r.received for r in rows), sum(r.duplicate for r in rows)) == (received, duplicate)
        assert all(row.is_balanced for row in rows)
        await queue.aclose()

    asyncio.run(play())
