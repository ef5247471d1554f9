"""One id, one event: claims within seven days, whoever else offers at the same moment."""

import asyncio
from datetime import timedelta

import pytest

from service_core.ingestion.ports import EnqueueFailed, EnqueueResult, IngestQueue
from service_core.testing.queue.kit import NOON, Kit, OpenQueue, WriteKeyClient


class Deduplication(Kit):
    """What is a duplicate, and what is not."""

    async def test_fifty_offers_of_one_id_give_one_success_and_forty_nine_duplicates(
        self, queue: IngestQueue, sender: WriteKeyClient
    ) -> None:
        answers = await asyncio.gather(*(queue.offer(sender.received_event()) for _ in range(50)))
        assert sorted(answers) == [EnqueueResult.DUPLICATE] * 49 + [EnqueueResult.QUEUED]
        assert len(await queue.take(100)) == 1
        row = await sender.ledger_row(queue)
        assert (row.received, row.duplicate, row.in_flight, row.is_balanced) == (50, 49, 1, True)

    async def test_of_events_that_come_together_the_first_of_an_id_is_taken(
        self, queue: IngestQueue, sender: WriteKeyClient
    ) -> None:
        await queue.offer(sender.received_event("old"))
        ids = ["a", "b", "a", "old", "c", "a"]
        whole = [sender.received_event(each) for each in ids] + [sender.received_event("a", claimed=False)]
        taken = [one is EnqueueResult.QUEUED for one in await queue.offer_all(whole)]
        assert taken == [True, True, False, False, True, False, True]
        assert await queue.offer_all([]) == []
        waiting = [one.arrival.event_id for one in await queue.take(10)]
        assert waiting == ["old", "a", "b", "c", "a"]
        row = await sender.ledger_row(queue)
        assert (row.received, row.duplicate, row.in_flight, row.is_balanced) == (8, 3, 5, True)

    async def test_bodies_of_five_hundred_from_two_processes_claim_each_id_once(
        self, queues: OpenQueue, sender: WriteKeyClient
    ) -> None:
        whole = [sender.received_event(f"e{n}") for n in range(500)]
        async with queues() as one, queues() as two:
            found = await asyncio.gather(*(queue.offer_all(whole) for queue in (one, two, one)))
            assert [
                sum(each)
                for each in zip(*([o is EnqueueResult.QUEUED for o in f] for f in found), strict=True)
            ] == [1] * 500
            row = await sender.ledger_row(one)
        assert (row.received, row.duplicate, row.in_flight, row.is_balanced) == (1500, 1000, 500, True)

    async def test_two_processes_claim_one_id_once(self, queues: OpenQueue, sender: WriteKeyClient) -> None:
        async with queues() as one, queues() as two:
            answers = await asyncio.gather(
                *(queue.offer(sender.received_event(f"e{n}")) for n in range(200) for queue in (one, two))
            )
        assert answers.count(EnqueueResult.QUEUED) == answers.count(EnqueueResult.DUPLICATE) == 200

    async def test_the_same_id_in_two_workspaces_is_two_events(self, queue: IngestQueue) -> None:
        assert await queue.offer(WriteKeyClient().received_event()) is EnqueueResult.QUEUED
        assert await queue.offer(WriteKeyClient().received_event()) is EnqueueResult.QUEUED

    async def test_a_generated_id_is_never_a_duplicate(
        self, queue: IngestQueue, sender: WriteKeyClient
    ) -> None:
        for _ in range(2):
            assert await queue.offer(sender.received_event(claimed=False)) is EnqueueResult.QUEUED

    async def test_a_claim_holds_seven_days_from_the_accepted_event(
        self, queue: IngestQueue, sender: WriteKeyClient
    ) -> None:
        week, second = timedelta(days=7), timedelta(seconds=1)
        moments = (timedelta(), week - second, week, week + second, 2 * week, -timedelta(hours=1))
        offers = [await queue.offer(sender.received_event(at=NOON + later)) for later in moments]
        expected = [True, False, False, True, False, False]
        assert [offer is EnqueueResult.QUEUED for offer in offers] == expected

    async def test_a_claim_outlives_its_event(self, queue: IngestQueue, sender: WriteKeyClient) -> None:
        await queue.offer(sender.received_event())
        await queue.acknowledge([], [])
        assert await queue.offer(sender.received_event()) is EnqueueResult.DUPLICATE

    async def test_a_text_that_is_none_fails_alone(self, queue: IngestQueue, sender: WriteKeyClient) -> None:
        good, bad = await asyncio.gather(
            queue.offer(sender.received_event("good")),
            queue.offer(sender.received_event("\ud800")),
            return_exceptions=True,
        )
        assert good is EnqueueResult.QUEUED
        assert isinstance(bad, EnqueueFailed)
        with pytest.raises(EnqueueFailed):
            await queue.offer_all([sender.received_event("other"), sender.received_event("\ud800")])
        assert await queue.offer(sender.received_event("other")) is EnqueueResult.QUEUED
