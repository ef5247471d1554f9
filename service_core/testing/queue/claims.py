"""One id, one event: claims within seven days, whoever else offers at the same moment."""

import asyncio
from datetime import timedelta

import pytest

from service_core.intake.ports import IngestQueue, Offer, QueueFailed
from service_core.testing.queue.kit import NOON, Kit, Queues, Sender


class Claims(Kit):
    """What is a duplicate, and what is not."""

    async def test_fifty_offers_of_one_id_give_one_success_and_forty_nine_duplicates(
        self, queue: IngestQueue, sender: Sender
    ) -> None:
        answers = await asyncio.gather(*(queue.offer(sender.arrival()) for _ in range(50)))
        assert sorted(answers) == [Offer.DUPLICATE] * 49 + [Offer.QUEUED]
        assert len(await queue.take(100)) == 1
        row = await sender.row(queue)
        assert (row.received, row.duplicate, row.in_flight, row.balanced) == (50, 49, 1, True)

    async def test_of_events_that_come_together_the_first_of_an_id_is_taken(
        self, queue: IngestQueue, sender: Sender
    ) -> None:
        await queue.offer(sender.arrival("old"))
        ids = ["a", "b", "a", "old", "c", "a"]
        whole = [sender.arrival(each) for each in ids] + [sender.arrival("a", claimed=False)]
        taken = [one is Offer.QUEUED for one in await queue.offer_all(whole)]
        assert taken == [True, True, False, False, True, False, True]
        assert await queue.offer_all([]) == []
        waiting = [one.arrival.event_id for one in await queue.take(10)]
        assert waiting == ["old", "a", "b", "c", "a"]
        row = await sender.row(queue)
        assert (row.received, row.duplicate, row.in_flight, row.balanced) == (8, 3, 5, True)

    async def test_bodies_of_five_hundred_from_two_processes_claim_each_id_once(
        self, queues: Queues, sender: Sender
    ) -> None:
        whole = [sender.arrival(f"e{n}") for n in range(500)]
        async with queues() as one, queues() as two:
            found = await asyncio.gather(*(queue.offer_all(whole) for queue in (one, two, one)))
            assert [
                sum(each) for each in zip(*([o is Offer.QUEUED for o in f] for f in found), strict=True)
            ] == [1] * 500
            row = await sender.row(one)
        assert (row.received, row.duplicate, row.in_flight, row.balanced) == (1500, 1000, 500, True)

    async def test_two_processes_claim_one_id_once(self, queues: Queues, sender: Sender) -> None:
        async with queues() as one, queues() as two:
            answers = await asyncio.gather(
                *(queue.offer(sender.arrival(f"e{n}")) for n in range(200) for queue in (one, two))
            )
        assert answers.count(Offer.QUEUED) == answers.count(Offer.DUPLICATE) == 200

    async def test_the_same_id_in_two_workspaces_is_two_events(self, queue: IngestQueue) -> None:
        assert await queue.offer(Sender().arrival()) is Offer.QUEUED
        assert await queue.offer(Sender().arrival()) is Offer.QUEUED

    async def test_a_generated_id_is_never_a_duplicate(self, queue: IngestQueue, sender: Sender) -> None:
        for _ in range(2):
            assert await queue.offer(sender.arrival(claimed=False)) is Offer.QUEUED

    async def test_a_claim_holds_seven_days_from_the_accepted_event(
        self, queue: IngestQueue, sender: Sender
    ) -> None:
        week, second = timedelta(days=7), timedelta(seconds=1)
        moments = (timedelta(), week - second, week, week + second, 2 * week, -timedelta(hours=1))
        offers = [await queue.offer(sender.arrival(at=NOON + later)) for later in moments]
        expected = [True, False, False, True, False, False]
        assert [offer is Offer.QUEUED for offer in offers] == expected

    async def test_a_claim_outlives_its_event(self, queue: IngestQueue, sender: Sender) -> None:
        await queue.offer(sender.arrival())
        await queue.settle([], [])
        assert await queue.offer(sender.arrival()) is Offer.DUPLICATE

    async def test_a_text_that_is_none_fails_alone(self, queue: IngestQueue, sender: Sender) -> None:
        good, bad = await asyncio.gather(
            queue.offer(sender.arrival("good")),
            queue.offer(sender.arrival("\ud800")),
            return_exceptions=True,
        )
        assert good is Offer.QUEUED
        assert isinstance(bad, QueueFailed)
        with pytest.raises(QueueFailed):
            await queue.offer_all([sender.arrival("other"), sender.arrival("\ud800")])
        assert await queue.offer(sender.arrival("other")) is Offer.QUEUED
