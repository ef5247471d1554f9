"""One id, one event: claims within seven days, whoever else offers at the same moment."""

import asyncio
from datetime import timedelta

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
