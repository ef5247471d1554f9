"""An event's way through: out as it went in, in order, kept until it is settled."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

from service_core.ingestion.models import QuarantinedEvent
from service_core.ingestion.ports import EnqueueResult, IngestQueue
from service_core.testing.queue.kit import NOON, Kit, OpenQueue, WriteKeyClient, stored_event


class DeliveryOrder(Kit):
    """Offer, take, settle."""

    async def test_an_accepted_event_comes_out_as_it_went_in(
        self, queue: IngestQueue, sender: WriteKeyClient
    ) -> None:
        sent = sender.received_event("ürder_\x00_1", user_agent="Ä", body=b' {"event":"\xc3\xa4\\u0000"} ')
        bare = sender.received_event("b", claimed=False, user_agent=None, address=None, headers={})
        assert await queue.offer(sent) is EnqueueResult.QUEUED
        assert await queue.offer(bare) is EnqueueResult.QUEUED
        first, second = await queue.take(10)
        assert (first.arrival, second.arrival) == (sent, bare)
        assert first.seq < second.seq

    async def test_what_is_taken_stays_until_it_is_settled(
        self, queue: IngestQueue, sender: WriteKeyClient
    ) -> None:
        for number in range(5):
            await queue.offer(sender.received_event(f"e{number}"))
        taken = await queue.take(3)
        assert [queued.arrival.event_id for queued in taken] == ["e0", "e1", "e2"]
        assert (await queue.take(3)) == taken
        await queue.acknowledge([stored_event(queued) for queued in taken[:2]], [])
        assert [queued.arrival.event_id for queued in await queue.take(10)] == ["e2", "e3", "e4"]

    async def test_an_event_set_aside_leaves_the_queue(
        self, queue: IngestQueue, sender: WriteKeyClient
    ) -> None:
        await queue.offer(sender.received_event())
        (waiting,) = await queue.take(10)
        await queue.acknowledge([], [QuarantinedEvent(waiting, "no number")])
        assert await queue.take(10) == []

    async def test_an_event_set_aside_is_kept_raw_with_its_reason_and_can_be_put_back(
        self, queue: Any, sender: WriteKeyClient
    ) -> None:
        for number in range(3):
            await queue.offer(sender.received_event(f"e{number}"))
        taken = await queue.take(10)
        aside = [
            QuarantinedEvent(waiting, f"no number {waiting.arrival.event_id} ä") for waiting in taken[:2]
        ]
        await queue.acknowledge([], aside)
        assert await queue.list_quarantined(sender.workspace, 10) == aside
        assert await queue.list_quarantined(sender.workspace, 1) == aside[:1]
        assert await queue.list_quarantined(uuid4(), 10) == []
        assert await queue.replay(sender.workspace) == 2
        assert await queue.list_quarantined(sender.workspace, 10) == []
        assert sorted(waiting.seq for waiting in await queue.take(10)) == [each.seq for each in taken]

    async def test_what_was_set_aside_is_forgotten_once_it_is_old_and_stays_counted(
        self, queue: Any, sender: WriteKeyClient
    ) -> None:
        other = WriteKeyClient()
        for whose, days in ((sender, 0), (sender, 1), (sender, 2), (other, 0)):
            await queue.offer(whose.received_event(f"e{days}", at=NOON + timedelta(days=days)))
        taken = await queue.take(10)
        await queue.acknowledge(
            [], [QuarantinedEvent(each, "no number") for each in (taken[2], *taken[:2], taken[3])]
        )
        gone = await queue.delete_before(NOON + timedelta(days=1, hours=1))
        assert (gone[sender.workspace], gone[other.workspace]) == (2, 1)
        assert await queue.delete_before(NOON) == {}
        (left,) = await queue.list_quarantined(sender.workspace, 10)
        assert left.queued.arrival.event_id == "e2"
        assert [row.quarantined for row in await sender.ledger_rows(queue)] == [1, 1, 1]

    async def test_what_one_process_offers_another_takes(
        self, queues: OpenQueue, sender: WriteKeyClient
    ) -> None:
        async with queues() as ingest, queues() as consumer:
            await ingest.offer(sender.received_event())
            (waiting,) = await consumer.take(10)
            await consumer.acknowledge([stored_event(waiting)], [])
            assert (await ingest.state()).waiting_count == 0

    async def test_the_sequence_grows_and_is_never_given_twice(
        self, queues: OpenQueue, sender: WriteKeyClient
    ) -> None:
        seen: list[int] = []
        for number in range(3):
            async with queues() as queue:
                await queue.offer(sender.received_event(f"e{number}"))
                (waiting,) = await queue.take(1)
                await queue.acknowledge([stored_event(waiting)], [])
                seen.append(waiting.seq)
        assert seen == sorted(set(seen))

    async def test_what_is_pending_at_the_end_is_made_durable(
        self, queues: OpenQueue, sender: WriteKeyClient
    ) -> None:
        async with queues() as queue:
            pending = [asyncio.create_task(queue.offer(sender.received_event(f"e{n}"))) for n in range(300)]
            await asyncio.sleep(0)
        assert {await task for task in pending} == {EnqueueResult.QUEUED}
        async with queues() as queue:
            assert len(await queue.take(1000)) == 300

    async def test_the_state_tells_how_far_behind_the_queue_is(
        self, queue: IngestQueue, sender: WriteKeyClient
    ) -> None:
        empty = await queue.state()
        assert (empty.waiting_count, empty.oldest_received_at) == (0, None)
        await queue.offer(sender.received_event("a"))
        await queue.offer(sender.received_event("b", at=NOON + timedelta(minutes=1)))
        behind = await queue.state()
        assert (behind.waiting_count, behind.oldest_received_at) == (2, NOON)
