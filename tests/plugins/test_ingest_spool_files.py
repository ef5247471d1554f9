"""What stands in the file: batches of which parts leave and come back, and files of the first form."""

import asyncio
import json
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from plugins.ingest_spool.adapter import SpoolQueue
from plugins.ingest_spool.row_format import MAX_EVENTS_PER_BATCH, to_microseconds
from plugins.ingest_spool.settings import SpoolSettings
from service_core.ingestion.models import IngestEndpoint, QuarantinedEvent, RejectionReason
from service_core.ingestion.ports import EnqueueResult
from service_core.kernel.errors import StartupError
from service_core.testing.queue.kit import NOON, WriteKeyClient, stored_event

WEEK = timedelta(days=7)

FIRST_FORM = """
    CREATE TABLE claim (
        workspace BLOB NOT NULL, event_id TEXT NOT NULL, claimed_at INTEGER NOT NULL,
        PRIMARY KEY (event_id, workspace)
    ) WITHOUT ROWID;
    CREATE INDEX claim_age ON claim (claimed_at);
    CREATE TABLE arrival (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        workspace BLOB NOT NULL, key BLOB NOT NULL, channel TEXT NOT NULL, hour INTEGER NOT NULL,
        event_id TEXT NOT NULL, claimed INTEGER NOT NULL, received_at INTEGER NOT NULL, body BLOB NOT NULL,
        user_agent TEXT, address TEXT, headers TEXT
    );
    CREATE INDEX arrival_lane ON arrival (received_at, hour, workspace, key, channel);
    CREATE TABLE quarantine (
        seq INTEGER PRIMARY KEY,
        workspace BLOB NOT NULL, key BLOB NOT NULL, channel TEXT NOT NULL, hour INTEGER NOT NULL,
        event_id TEXT NOT NULL, claimed INTEGER NOT NULL, received_at INTEGER NOT NULL, body BLOB NOT NULL,
        user_agent TEXT, address TEXT, headers TEXT, reason TEXT NOT NULL
    );
    CREATE TABLE ledger (
        workspace BLOB NOT NULL, key BLOB NOT NULL, channel TEXT NOT NULL, hour INTEGER NOT NULL,
        received INTEGER NOT NULL DEFAULT 0, duplicate INTEGER NOT NULL DEFAULT 0,
        stored INTEGER NOT NULL DEFAULT 0, quarantined INTEGER NOT NULL DEFAULT 0,
        late INTEGER NOT NULL DEFAULT 0, bots INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (workspace, hour, key, channel)
    ) WITHOUT ROWID;
    CREATE TABLE rejection (
        workspace BLOB NOT NULL, key BLOB NOT NULL, channel TEXT NOT NULL, hour INTEGER NOT NULL,
        reason TEXT NOT NULL, events INTEGER NOT NULL,
        PRIMARY KEY (workspace, hour, key, channel, reason)
    ) WITHOUT ROWID;
    PRAGMA user_version = 1;
"""


@asynccontextmanager
async def spool(folder: Path, **given):
    queue = SpoolQueue(SpoolSettings(url="spool:///ingest.db", path=folder / "ingest.db", **given))
    await queue.start()
    try:
        yield queue
    finally:
        await queue.aclose()


def old_row(arrival, seq=None):
    """The columns of an arrival in a file of the first form."""
    at = to_microseconds(arrival.received_at)
    return (
        seq, arrival.workspace_id.bytes, arrival.key_id.bytes, "track", at // 3_600_000_000, arrival.event_id,
        arrival.claimed, at, arrival.body, arrival.user_agent, arrival.address,
        json.dumps(arrival.headers) if arrival.headers else None,
    )  # fmt: skip


def old_file(path: Path, sender: WriteKeyClient) -> None:
    """A file of the first form: three arrivals wait, one is set aside, 2000 have left."""
    waiting = {
        2001: sender.received_event("ä"),
        2003: sender.received_event("b", headers={}),
        3005: sender.received_event("c", claimed=False),
    }
    lane = sender.workspace.bytes, sender.key.bytes, "track", to_microseconds(NOON) // 3_600_000_000
    with closing(sqlite3.connect(path)) as file, file:
        file.executescript(FIRST_FORM)
        places = ", ?" * 11
        file.executemany(
            f"INSERT INTO arrival VALUES (?{places})", [old_row(a, s) for s, a in waiting.items()]
        )
        file.execute(
            f"INSERT INTO quarantine VALUES (?{places}, 'bad')", old_row(sender.received_event("d"), 2002)
        )
        claims = [("ä", NOON), ("b", NOON), ("d", NOON - WEEK), ("old", NOON - WEEK - timedelta(seconds=1))]
        file.executemany(
            "INSERT INTO claim VALUES (?, ?, ?)",
            [(lane[0], event_id, to_microseconds(at)) for event_id, at in claims],
        )
        file.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, 10, 2, 1, 1, 1, 0)", lane)
        file.execute("INSERT INTO rejection VALUES (?, ?, ?, ?, 'no_body', 3)", lane)


async def test_a_file_of_the_first_form_is_carried_over_with_all_that_is_in_it(tmp_path: Path) -> None:
    sender = WriteKeyClient()
    old_file(tmp_path / "ingest.db", sender)
    async with spool(tmp_path) as queue:
        taken = await queue.take(10)
        assert [waiting.seq for waiting in taken] == [2001, 2003, 3005]
        assert taken[0].arrival == sender.received_event("ä")
        assert taken[1].arrival == sender.received_event("b", headers={})
        assert taken[2].arrival == sender.received_event("c", claimed=False)
        (aside,) = await queue.list_quarantined(sender.workspace, 10)
        assert (aside.queued.seq, aside.queued.arrival, aside.reason) == (
            2002,
            sender.received_event("d"),
            "bad",
        )
        row = await sender.ledger_row(queue)
        assert (row.received, row.duplicate, row.stored, row.quarantined, row.in_flight, row.late) == (
            10, 2, 1, 1, 3, 1
        )  # fmt: skip
        assert row.rejected_by_reason == {RejectionReason.NO_BODY: 3}
        assert row.is_balanced
        answers = [await queue.offer(sender.received_event(event_id)) for event_id in ("ä", "b", "d", "old")]
        assert answers == [EnqueueResult.DUPLICATE] * 3 + [EnqueueResult.QUEUED]
        assert await queue.replay(sender.workspace) == 1
        seqs = [waiting.seq for waiting in await queue.take(10)]
        assert seqs[:4] == [2001, 2002, 2003, 3005]
        assert seqs[4] > 3005
        await queue.acknowledge([stored_event(waiting) for waiting in await queue.take(10)], [])
        assert await queue.take(10) == []


async def test_processes_that_open_an_old_file_together_carry_it_over_once(tmp_path: Path) -> None:
    sender = WriteKeyClient()
    old_file(tmp_path / "ingest.db", sender)
    queues = [SpoolQueue(SpoolSettings(url="spool:///x", path=tmp_path / "ingest.db")) for _ in range(3)]
    await asyncio.gather(*(queue.start() for queue in queues))
    taken = [[waiting.seq for waiting in await queue.take(10)] for queue in queues]
    for queue in queues:
        await queue.aclose()
    assert taken == [[2001, 2003, 3005]] * 3


async def test_arrivals_beyond_one_batch_keep_their_order_and_have_sequences_of_their_own(
    tmp_path: Path,
) -> None:
    sender, number = WriteKeyClient(), 2 * MAX_EVENTS_PER_BATCH + 5
    async with spool(tmp_path) as queue:
        offers = await asyncio.gather(*(queue.offer(sender.received_event(f"e{n}")) for n in range(number)))
        assert set(offers) == {EnqueueResult.QUEUED}
        taken = await queue.take(10_000)
    assert [waiting.arrival.event_id for waiting in taken] == [f"e{n}" for n in range(number)]
    assert [waiting.seq for waiting in taken] == sorted({waiting.seq for waiting in taken})


async def test_parts_of_a_batch_leave_and_come_back_whole(tmp_path: Path) -> None:
    sender = WriteKeyClient()
    async with spool(tmp_path) as queue:
        await asyncio.gather(
            *(queue.offer(sender.received_event(f"e{n}", body=b"{%d}" % n)) for n in range(6))
        )
        whole = await queue.take(10)
        await queue.acknowledge(
            [stored_event(whole[0])], [QuarantinedEvent(whole[2], "bad"), QuarantinedEvent(whole[5], "bad")]
        )
        assert await queue.take(10) == [whole[1], whole[3], whole[4]]
        assert await queue.take(2) == [whole[1], whole[3]]
        await queue.acknowledge([stored_event(whole[1])], [])
        assert await queue.replay(sender.workspace) == 2
        assert await queue.take(10) == whole[2:]
        await queue.acknowledge(
            [stored_event(waiting) for waiting in whole[2:5]], [QuarantinedEvent(whole[5], "bad")]
        )
        assert await queue.take(10) == []
        assert await queue.replay(sender.workspace) == 1
        assert await queue.take(10) == whole[5:]
        row = await sender.ledger_row(queue)
        assert (row.received, row.stored, row.quarantined, row.in_flight) == (6, 5, 0, 1)


async def test_repeats_renewed_ids_and_rejections_share_a_commit_with_new_events(tmp_path: Path) -> None:
    sender, later = WriteKeyClient(), NOON + WEEK + timedelta(seconds=1)
    async with spool(tmp_path) as queue:
        await asyncio.gather(
            queue.offer(sender.received_event("a")), queue.offer(sender.received_event("b", at=later))
        )
        await queue.count_rejected(
            sender.workspace, sender.key, IngestEndpoint.TRACK, RejectionReason.NO_BODY, later
        )
        sent = [("a", True), ("b", True), ("c", True), ("c", True), ("a", True), ("a", False)]
        offers = await asyncio.gather(
            *(queue.offer(sender.received_event(name, at=later, claimed=claimed)) for name, claimed in sent)
        )
        expected = [True, False, True, False, False, True]
        assert [offer is EnqueueResult.QUEUED for offer in offers] == expected
        assert await queue.offer(sender.received_event("a", at=later + WEEK)) is EnqueueResult.DUPLICATE
        rows = {row.hour: row for row in await sender.ledger_rows(queue)}
    row = rows[datetime(later.year, later.month, later.day, later.hour, tzinfo=UTC)]
    assert (row.received, row.duplicate, row.in_flight, row.rejected) == (8, 3, 4, 1)
    assert all(row.is_balanced for row in rows.values())


async def test_claims_whose_window_is_over_go_wherever_they_lie(tmp_path: Path) -> None:
    sender, other = WriteKeyClient(), uuid4()
    async with spool(tmp_path) as queue:
        await asyncio.gather(*(queue.offer(sender.received_event(f"e{n}")) for n in range(2_000)))
        await queue.offer(
            sender.received_event("later", at=NOON + WEEK + timedelta(seconds=1), workspace_id=other)
        )
        (*_, latest) = taken = await queue.take(3_000)
        await queue.acknowledge([stored_event(waiting) for waiting in taken[:-1]], [])
        await queue.acknowledge([stored_event(latest)], [])
        claims = -1
        async with asyncio.timeout(30):
            while claims != 1:
                await queue.acknowledge([stored_event(latest)], [])
                with closing(sqlite3.connect(tmp_path / "ingest.db")) as file:
                    (claims,) = file.execute("SELECT count(*) FROM claim").fetchone()
        again = NOON + WEEK + timedelta(seconds=2)
        assert (
            await queue.offer(sender.received_event("later", at=again, workspace_id=other))
            is EnqueueResult.DUPLICATE
        )
        assert await queue.offer(sender.received_event("e0", at=again)) is EnqueueResult.QUEUED


@pytest.mark.parametrize("ask", [SpoolQueue.check, SpoolQueue.start])
async def test_a_file_that_is_no_queue_is_refused_in_a_sentence(tmp_path, ask):
    file = tmp_path / "ingest.db"
    file.write_text("what somebody put here by mistake")
    queue = SpoolQueue(SpoolSettings(url="spool:///ingest.db", path=file))
    with pytest.raises(StartupError, match=r"ingest\.db cannot be used as the ingest queue: .*no.* database"):
        await ask(queue)
    await queue.aclose()
