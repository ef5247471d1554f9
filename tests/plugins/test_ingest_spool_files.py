"""The spool file: partly settled batches, deletion of claims, and files that are refused."""

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from plugins.ingest_spool.adapter import SpoolQueue
from plugins.ingest_spool.row_format import MAX_EVENTS_PER_BATCH
from plugins.ingest_spool.settings import SpoolSettings
from service_core.ingestion.models import IngestEndpoint, QuarantinedEvent, RejectionReason
from service_core.ingestion.ports import EnqueueResult
from service_core.kernel.errors import StartupError
from service_core.testing.queue.kit import NOON, WriteKeyClient, make_stored_event

WEEK = timedelta(days=7)


@asynccontextmanager
async def open_spool(folder: Path, **given):
    queue = SpoolQueue(SpoolSettings(url="spool:///ingest.db", path=folder / "ingest.db", **given))
    await queue.start()
    try:
        yield queue
    finally:
        await queue.aclose()


async def test_events_of_several_batches_keep_order_and_unique_sequences(
    tmp_path: Path,
) -> None:
    sender, number = WriteKeyClient(), 2 * MAX_EVENTS_PER_BATCH + 5
    async with open_spool(tmp_path) as queue:
        offers = await asyncio.gather(
            *(queue.offer(sender.make_received_event(f"e{n}")) for n in range(number))
        )
        assert set(offers) == {EnqueueResult.QUEUED}
        taken = await queue.take(10_000)
    assert [waiting.arrival.event_id for waiting in taken] == [f"e{n}" for n in range(number)]
    assert [waiting.seq for waiting in taken] == sorted({waiting.seq for waiting in taken})


async def test_partially_acknowledged_batch_is_returned_completely(tmp_path: Path) -> None:
    sender = WriteKeyClient()
    async with open_spool(tmp_path) as queue:
        await asyncio.gather(
            *(queue.offer(sender.make_received_event(f"e{n}", body=b"{%d}" % n)) for n in range(6))
        )
        whole = await queue.take(10)
        await queue.acknowledge(
            [make_stored_event(whole[0])],
            [QuarantinedEvent(whole[2], "bad"), QuarantinedEvent(whole[5], "bad")],
        )
        assert await queue.take(10) == [whole[1], whole[3], whole[4]]
        assert await queue.take(2) == [whole[1], whole[3]]
        await queue.acknowledge([make_stored_event(whole[1])], [])
        assert await queue.replay(sender.workspace_id) == 2
        assert await queue.take(10) == whole[2:]
        await queue.acknowledge(
            [make_stored_event(waiting) for waiting in whole[2:5]], [QuarantinedEvent(whole[5], "bad")]
        )
        assert await queue.take(10) == []
        assert await queue.replay(sender.workspace_id) == 1
        assert await queue.take(10) == whole[5:]
        row = await sender.only_ledger_row(queue)
        assert (row.received, row.stored, row.quarantined, row.in_flight) == (6, 5, 0, 1)


async def test_repeats_renewed_ids_and_rejections_share_a_commit_with_new_events(tmp_path: Path) -> None:
    sender, later = WriteKeyClient(), NOON + WEEK + timedelta(seconds=1)
    async with open_spool(tmp_path) as queue:
        await asyncio.gather(
            queue.offer(sender.make_received_event("a")),
            queue.offer(sender.make_received_event("b", received_at=later)),
        )
        await queue.count_rejected(
            sender.workspace_id, sender.key_id, IngestEndpoint.TRACK, RejectionReason.NO_BODY, later
        )
        sent = [("a", True), ("b", True), ("c", True), ("c", True), ("a", True), ("a", False)]
        offers = await asyncio.gather(
            *(
                queue.offer(sender.make_received_event(name, received_at=later, claimed=claimed))
                for name, claimed in sent
            )
        )
        expected = [True, False, True, False, False, True]
        assert [offer is EnqueueResult.QUEUED for offer in offers] == expected
        assert (
            await queue.offer(sender.make_received_event("a", received_at=later + WEEK))
            is EnqueueResult.DUPLICATE
        )
        rows = {row.hour: row for row in await sender.own_ledger_rows(queue)}
    row = rows[datetime(later.year, later.month, later.day, later.hour, tzinfo=UTC)]
    assert (row.received, row.duplicate, row.in_flight, row.rejected) == (8, 3, 4, 1)
    assert all(row.is_balanced for row in rows.values())


async def test_expired_claims_are_deleted_in_every_file(tmp_path: Path) -> None:
    sender, other = WriteKeyClient(), uuid4()
    async with open_spool(tmp_path) as queue:
        await asyncio.gather(*(queue.offer(sender.make_received_event(f"e{n}")) for n in range(2_000)))
        await queue.offer(
            sender.make_received_event(
                "later", received_at=NOON + WEEK + timedelta(seconds=1), workspace_id=other
            )
        )
        (*_, latest) = taken = await queue.take(3_000)
        await queue.acknowledge([make_stored_event(waiting) for waiting in taken[:-1]], [])
        await queue.acknowledge([make_stored_event(latest)], [])
        claims = -1
        async with asyncio.timeout(30):
            while claims != 1:
                await queue.acknowledge([make_stored_event(latest)], [])
                with closing(sqlite3.connect(tmp_path / "ingest.db")) as file:
                    (claims,) = file.execute("SELECT count(*) FROM claim").fetchone()
        again = NOON + WEEK + timedelta(seconds=2)
        assert (
            await queue.offer(sender.make_received_event("later", received_at=again, workspace_id=other))
            is EnqueueResult.DUPLICATE
        )
        assert await queue.offer(sender.make_received_event("e0", received_at=again)) is EnqueueResult.QUEUED


@pytest.mark.parametrize("ask", [SpoolQueue.check, SpoolQueue.start])
async def test_invalid_queue_file_is_refused_with_one_sentence(tmp_path, ask):
    file = tmp_path / "ingest.db"
    file.write_text("what somebody put here by mistake")
    queue = SpoolQueue(SpoolSettings(url="spool:///ingest.db", path=file))
    with pytest.raises(StartupError, match=r"ingest\.db cannot be used as the ingest queue: .*no.* database"):
        await ask(queue)
    await queue.aclose()


@pytest.mark.parametrize("ask", [SpoolQueue.check, SpoolQueue.start])
async def test_file_of_another_version_is_refused_in_a_sentence(tmp_path, ask):
    file = tmp_path / "ingest.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 1")
    queue = SpoolQueue(SpoolSettings(url="spool:///ingest.db", path=file))
    with pytest.raises(StartupError, match=r"ingest\.db was written by another version of Touchpoint"):
        await ask(queue)
    await queue.aclose()


async def test_processes_that_create_a_file_together_create_its_tables_once(tmp_path):
    sender = WriteKeyClient()
    queues = [SpoolQueue(SpoolSettings(url="spool:///x", path=tmp_path / "ingest.db")) for _ in range(3)]
    await asyncio.gather(*(queue.start() for queue in queues))
    await queues[0].offer(sender.make_received_event("a"))
    taken = [[waiting.arrival.event_id for waiting in await queue.take(10)] for queue in queues]
    for queue in queues:
        await queue.aclose()
    assert taken == [["a"]] * 3


async def test_space_of_stored_events_is_given_back(tmp_path):
    sender, body = WriteKeyClient(), b" " * 250_000
    async with open_spool(tmp_path) as queue:
        for lot in range(10):
            await queue.offer_all([sender.make_received_event(f"{lot}:{n}", body=body) for n in range(16)])
        while taken := await queue.take(4):
            await queue.acknowledge([make_stored_event(waiting) for waiting in taken], [])
    assert (tmp_path / "ingest.db").stat().st_size < 12_000_000
