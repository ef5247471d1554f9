"""Conformance tests of deduplication: an event id is queued once within seven days."""

import asyncio
from datetime import timedelta

import pytest

from service_core.ingestion.models import IngestEndpoint
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue
from service_core.testing.queue.kit import NOON, IngestQueueKit, OpenQueue, WriteKeyClient


class Deduplication(IngestQueueKit):
    """Tests of which offers are duplicates."""

    async def test_fifty_concurrent_offers_of_one_id_queue_it_once_and_count_49_duplicates(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """Of fifty concurrent offers of one event id one is queued, 49 are duplicates, and the ledger says so."""
        answers = await asyncio.gather(*(queue.offer(client.make_received_event()) for _ in range(50)))
        assert sorted(answers) == [EnqueueResult.DUPLICATE] * 49 + [EnqueueResult.QUEUED]
        assert len(await queue.take(100)) == 1
        row = await client.only_ledger_row(queue)
        assert (row.received, row.duplicate, row.in_flight, row.is_balanced) == (50, 49, 1, True)

    async def test_offer_all_queues_the_first_event_of_each_id_and_keeps_order(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """In one batch the first event of each claimed id is queued.

        Repeats and earlier ids are duplicates.
        """
        await queue.offer(client.make_received_event("old"))
        ids = ["a", "b", "a", "old", "c", "a"]
        batch = [client.make_received_event(event_id) for event_id in ids] + [
            client.make_received_event("a", claimed=False)
        ]
        is_queued = [result is EnqueueResult.QUEUED for result in await queue.offer_all(batch)]
        assert is_queued == [True, True, False, False, True, False, True]
        assert await queue.offer_all([]) == []
        waiting = [queued.arrival.event_id for queued in await queue.take(10)]
        assert waiting == ["old", "a", "b", "c", "a"]
        row = await client.only_ledger_row(queue)
        assert (row.received, row.duplicate, row.in_flight, row.is_balanced) == (8, 3, 5, True)

    async def test_concurrent_batches_of_500_from_two_processes_queue_each_id_once(
        self, open_queue: OpenQueue, client: WriteKeyClient
    ) -> None:
        """The same batch of 500 ids offered three times by two processes is queued once."""
        batch = [client.make_received_event(f"e{n}") for n in range(500)]
        async with open_queue() as first, open_queue() as second:
            results = await asyncio.gather(*(queue.offer_all(batch) for queue in (first, second, first)))
            assert [
                sum(of_one_id)
                for of_one_id in zip(
                    *([o is EnqueueResult.QUEUED for o in batch] for batch in results), strict=True
                )
            ] == [1] * 500
            row = await client.only_ledger_row(first)
        assert (row.received, row.duplicate, row.in_flight, row.is_balanced) == (1500, 1000, 500, True)

    async def test_concurrent_offers_from_two_processes_queue_each_id_once(
        self, open_queue: OpenQueue, client: WriteKeyClient
    ) -> None:
        """Of single offers of the same ids by two processes one each is queued."""
        async with open_queue() as first, open_queue() as second:
            answers = await asyncio.gather(
                *(
                    queue.offer(client.make_received_event(f"e{n}"))
                    for n in range(200)
                    for queue in (first, second)
                )
            )
        assert answers.count(EnqueueResult.QUEUED) == answers.count(EnqueueResult.DUPLICATE) == 200

    async def test_same_event_id_in_two_workspaces_is_queued_twice(self, queue: IngestQueue) -> None:
        """Event ids are claimed per workspace."""
        assert await queue.offer(WriteKeyClient().make_received_event()) is EnqueueResult.QUEUED
        assert await queue.offer(WriteKeyClient().make_received_event()) is EnqueueResult.QUEUED

    async def test_events_with_generated_ids_are_never_duplicates(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """An event id that the client did not send is not claimed."""
        for _ in range(2):
            assert await queue.offer(client.make_received_event(claimed=False)) is EnqueueResult.QUEUED

    async def test_claimed_id_is_a_duplicate_until_seven_days_after_the_accepted_event(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """An id is a duplicate up to exactly seven days after the event that was accepted last, and for earlier events."""
        week, second = timedelta(days=7), timedelta(seconds=1)
        moments = (timedelta(), week - second, week, week + second, 2 * week, -timedelta(hours=1))
        offers = [
            await queue.offer(client.make_received_event(received_at=NOON + later)) for later in moments
        ]
        expected = [True, False, False, True, False, False]
        assert [offer is EnqueueResult.QUEUED for offer in offers] == expected

    async def test_claim_without_a_key_gives_way_to_one_with_a_key(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """An id claimed by a browser batch is accepted once more from a sender with a key, and never the other way."""
        odd = NOON + timedelta(microseconds=1)
        senders = [IngestEndpoint.BATCH, IngestEndpoint.BATCH, IngestEndpoint.TRACK]
        senders += [IngestEndpoint.TRACK, IngestEndpoint.WEBHOOK, IngestEndpoint.BATCH]
        expected = [True, False, True, False, False, False]
        single = [
            await queue.offer(client.make_received_event("single", channel=sender, received_at=odd))
            for sender in senders
        ]
        assert [offer is EnqueueResult.QUEUED for offer in single] == expected
        together = await queue.offer_all(
            [client.make_received_event("together", channel=sender, received_at=odd) for sender in senders]
        )
        assert [offer is EnqueueResult.QUEUED for offer in together] == expected
        assert await queue.offer(client.make_received_event("together")) is EnqueueResult.DUPLICATE
        assert all(row.is_balanced for row in await client.own_ledger_rows(queue))

    async def test_id_stays_claimed_after_acknowledge(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """An id is a duplicate also after `acknowledge`."""
        await queue.offer(client.make_received_event())
        await queue.acknowledge([], [])
        assert await queue.offer(client.make_received_event()) is EnqueueResult.DUPLICATE

    async def test_id_that_is_no_valid_text_fails_alone_or_with_its_whole_batch(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """An offer whose id is no valid text raises `EnqueueFailed` alone.

        A batch with one queues and claims nothing.
        """
        good, bad = await asyncio.gather(
            queue.offer(client.make_received_event("good")),
            queue.offer(client.make_received_event("\ud800")),
            return_exceptions=True,
        )
        assert good is EnqueueResult.QUEUED
        assert isinstance(bad, EnqueueFailed)
        with pytest.raises(EnqueueFailed):
            await queue.offer_all([client.make_received_event("other"), client.make_received_event("\ud800")])
        assert await queue.offer(client.make_received_event("other")) is EnqueueResult.QUEUED
