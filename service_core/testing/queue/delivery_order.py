"""Conformance tests of delivery: events come unchanged, in order, and stay until they are acknowledged."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

from service_core.ingestion.models import QuarantinedEvent, ReceivedEvent
from service_core.ingestion.ports import EnqueueResult, IngestQueue
from service_core.testing.queue.kit import NOON, IngestQueueKit, OpenQueue, WriteKeyClient, make_stored_event


class DeliveryOrder(IngestQueueKit):
    """Tests of `offer`, `take`, `acknowledge`, quarantine and `state`."""

    async def test_taken_events_equal_offered_ones_with_growing_sequence(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """`take` returns offered events unchanged, with and without optional fields, in growing sequence."""
        sent = client.make_received_event(
            "ürder_\x00_1", user_agent="Ä", body=b' {"event":"\xc3\xa4\\u0000"} '
        )
        minimal = client.make_received_event("b", claimed=False, user_agent=None, address=None, headers={})
        assert await queue.offer(sent) is EnqueueResult.QUEUED
        assert await queue.offer(minimal) is EnqueueResult.QUEUED
        first, second = await queue.take(10)
        assert (first.arrival, second.arrival) == (sent, minimal)
        assert first.seq < second.seq

    async def test_taken_events_are_taken_again_until_acknowledged(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """`take` returns the oldest events again until they are acknowledged."""
        for number in range(5):
            await queue.offer(client.make_received_event(f"e{number}"))
        taken = await queue.take(3)
        assert [queued.arrival.event_id for queued in taken] == ["e0", "e1", "e2"]
        assert (await queue.take(3)) == taken
        await queue.acknowledge([make_stored_event(queued) for queued in taken[:2]], [])
        assert [queued.arrival.event_id for queued in await queue.take(10)] == ["e2", "e3", "e4"]

    async def test_quarantined_event_leaves_the_queue(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """An event acknowledged as quarantined is not taken again."""
        await queue.offer(client.make_received_event())
        (waiting,) = await queue.take(10)
        await queue.acknowledge([], [QuarantinedEvent(waiting, "no event name")])
        assert await queue.take(10) == []

    async def test_quarantined_events_are_listed_with_reason_and_replay_requeues_them(
        self, queue: Any, client: WriteKeyClient
    ) -> None:
        """Quarantined events are listed per workspace up to a limit with their reason.

        `replay` puts all back with their sequence.
        """
        for number in range(3):
            await queue.offer(client.make_received_event(f"e{number}"))
        taken = await queue.take(10)
        quarantined = [
            QuarantinedEvent(waiting, f"no event name {waiting.arrival.event_id} ä") for waiting in taken[:2]
        ]
        await queue.acknowledge([], quarantined)
        assert await queue.list_quarantined(client.workspace_id, 10) == quarantined
        assert await queue.list_quarantined(client.workspace_id, 1) == quarantined[:1]
        assert await queue.list_quarantined(uuid4(), 10) == []
        assert await queue.replay(client.workspace_id) == 2
        assert await queue.list_quarantined(client.workspace_id, 10) == []
        assert sorted(waiting.seq for waiting in await queue.take(10)) == [queued.seq for queued in taken]

    async def test_delete_before_removes_old_quarantined_events_and_keeps_ledger_counts(
        self, queue: Any, client: WriteKeyClient
    ) -> None:
        """`delete_quarantined_before` removes older quarantined events and returns counts per workspace.

        The ledger keeps them.
        """
        other = WriteKeyClient()
        for owner, days in ((client, 0), (client, 1), (client, 2), (other, 0)):
            await queue.offer(owner.make_received_event(f"e{days}", received_at=NOON + timedelta(days=days)))
        taken = await queue.take(10)
        await queue.acknowledge(
            [], [QuarantinedEvent(queued, "no event name") for queued in (taken[2], *taken[:2], taken[3])]
        )
        deleted = await queue.delete_quarantined_before(NOON + timedelta(days=1, hours=1))
        assert (deleted[client.workspace_id], deleted[other.workspace_id]) == (2, 1)
        assert await queue.delete_quarantined_before(NOON) == {}
        (remaining,) = await queue.list_quarantined(client.workspace_id, 10)
        assert remaining.queued.arrival.event_id == "e2"
        assert [row.quarantined for row in await client.own_ledger_rows(queue)] == [1, 1, 1]

    async def test_quarantined_events_are_rewritten_in_their_order_or_deleted(
        self, queue: Any, client: WriteKeyClient
    ) -> None:
        """`rewrite_quarantined` replaces, keeps or deletes each event, and a replayed one has its new content."""
        for number in range(4):
            await queue.offer(
                client.make_received_event(f"e{number}", received_at=NOON + timedelta(days=number))
            )
        taken = await queue.take(10)
        await queue.acknowledge([], [QuarantinedEvent(queued, "no event name") for queued in taken])

        def rewrite(arrival: ReceivedEvent) -> ReceivedEvent | None:
            if arrival.event_id == "e2":
                return None
            return arrival._replace(address=None, body=b"{}") if arrival.event_id == "e1" else arrival

        assert await queue.rewrite_quarantined(rewrite) == {client.workspace_id: 2}
        assert await queue.rewrite_quarantined(lambda arrival: arrival) == {}
        rows = [row.queued for row in await queue.list_quarantined(client.workspace_id, 10)]
        assert [row.arrival.event_id for row in rows] == ["e0", "e1", "e3"]
        assert [row.arrival.address for row in rows] == ["203.0.113.7", None, "203.0.113.7"]
        assert [row.seq for row in rows] == [taken[place].seq for place in (0, 1, 3)]
        assert await queue.replay(client.workspace_id) == 3
        replayed = {queued.arrival.event_id: queued.arrival.body for queued in await queue.take(10)}
        assert replayed["e1"] == b"{}"

    async def test_waiting_events_received_before_a_time_are_rewritten_and_stored_once(
        self, queue: Any, client: WriteKeyClient
    ) -> None:
        """`rewrite_waiting` replaces older waiting events; they keep sequence, claim and place in the ledger."""
        for number in range(4):
            await queue.offer(
                client.make_received_event(f"e{number}", received_at=NOON + timedelta(days=number))
            )
        before = await queue.take(10)
        await queue.acknowledge([make_stored_event(before[0])], [])

        def rewrite(arrival: ReceivedEvent) -> ReceivedEvent:
            return arrival if arrival.event_id == "e2" else arrival._replace(address=None, body=b"{}")

        cutoff = NOON + timedelta(days=3)
        assert await queue.rewrite_waiting(cutoff, rewrite) == 1
        assert await queue.rewrite_waiting(cutoff, rewrite) == 0
        assert await queue.rewrite_waiting(cutoff, lambda arrival: arrival) == 0
        state = await queue.state()
        assert (state.waiting_count, state.oldest_received_at) == (3, NOON + timedelta(days=1))
        assert (
            await queue.offer(client.make_received_event("e1", received_at=NOON)) is EnqueueResult.DUPLICATE
        )
        taken = {queued.arrival.event_id: queued for queued in await queue.take(10)}
        assert {id_: (e.seq, e.arrival.address, e.arrival.body == b"{}") for id_, e in taken.items()} == {
            "e1": (before[1].seq, None, True),
            "e2": (before[2].seq, before[2].arrival.address, False),
            "e3": (before[3].seq, before[3].arrival.address, False),
        }
        assert (taken["e2"].arrival, taken["e3"].arrival) == (before[2].arrival, before[3].arrival)
        await queue.acknowledge([make_stored_event(queued) for queued in before[1:]], [])
        assert await queue.take(10) == []
        state = await queue.state()
        assert (state.waiting_count, state.oldest_received_at) == (0, None)
        rows = await client.own_ledger_rows(queue)
        assert [(row.stored, row.in_flight) for row in rows] == [(1, 0)] * 4

    async def test_events_offered_by_one_process_are_taken_by_another(
        self, open_queue: OpenQueue, client: WriteKeyClient
    ) -> None:
        """Another process takes and acknowledges an offered event, and the first sees an empty queue."""
        async with open_queue() as ingest, open_queue() as consumer:
            await ingest.offer(client.make_received_event())
            (waiting,) = await consumer.take(10)
            await consumer.acknowledge([make_stored_event(waiting)], [])
            assert (await ingest.state()).waiting_count == 0

    async def test_sequence_numbers_grow_over_reopened_queues(
        self, open_queue: OpenQueue, client: WriteKeyClient
    ) -> None:
        """Sequence numbers grow and never repeat when the queue is closed and opened."""
        seen: list[int] = []
        for number in range(3):
            async with open_queue() as queue:
                await queue.offer(client.make_received_event(f"e{number}"))
                (waiting,) = await queue.take(1)
                await queue.acknowledge([make_stored_event(waiting)], [])
                seen.append(waiting.seq)
        assert seen == sorted(set(seen))

    async def test_pending_offers_are_stored_when_the_queue_closes(
        self, open_queue: OpenQueue, client: WriteKeyClient
    ) -> None:
        """Offers still pending when the queue closes are queued and found when it opens again."""
        async with open_queue() as queue:
            pending = [
                asyncio.create_task(queue.offer(client.make_received_event(f"e{n}"))) for n in range(300)
            ]
            await asyncio.sleep(0)
        assert {await task for task in pending} == {EnqueueResult.QUEUED}
        async with open_queue() as queue:
            assert len(await queue.take(1000)) == 300

    async def test_state_has_waiting_count_and_oldest_received_time(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """`state` has the number of waiting events and the oldest time of receipt.

        0 and None when empty.
        """
        empty = await queue.state()
        assert (empty.waiting_count, empty.oldest_received_at) == (0, None)
        await queue.offer(client.make_received_event("a"))
        await queue.offer(client.make_received_event("b", received_at=NOON + timedelta(minutes=1)))
        behind = await queue.state()
        assert (behind.waiting_count, behind.oldest_received_at) == (2, NOON)
