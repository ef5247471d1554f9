"""The ledger: every event received is accounted for, at any moment (semantics 20)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service_core.intake.model import Channel, Quarantined, Reason
from service_core.intake.ports import IngestQueue, Offer
from service_core.testing.queue.kit import NOON, Kit, Queues, Sender, stored

STEPS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("offer"), st.lists(st.integers(0, 6), min_size=1, max_size=40)),
        st.tuples(st.just("offer all"), st.lists(st.integers(0, 6), max_size=40)),
        st.tuples(st.just("reject"), st.sampled_from(list(Reason))),
        st.tuples(st.just("settle"), st.integers(1, 5)),
        st.tuples(st.just("set aside"), st.integers(1, 2)),
        st.tuples(st.just("reopen"), st.none()),
    ),
    max_size=12,
)

CHANNELS: Final = {"offer": Channel.TRACK, "offer all": Channel.BATCH}

SHARED: Final = (HealthCheck.function_scoped_fixture, HealthCheck.differing_executors, HealthCheck.too_slow)
"""One queue serves every example, and every adapter's class runs the same test: senders keep apart."""


class Accounts(Kit):
    """Counts that close."""

    async def test_the_ledger_balances_through_every_state(self, queue: IngestQueue, sender: Sender) -> None:
        await asyncio.gather(*(queue.offer(sender.arrival(f"e{n}")) for n in range(5)))
        await queue.offer(sender.arrival("e0"))
        for reason in (Reason.NO_BODY, Reason.INVALID_JSON):
            await queue.reject(sender.workspace, sender.key, Channel.TRACK, reason, NOON)
        await queue.offer(sender.arrival("e5"))
        bot, late, poison, *rest = await queue.take(10)
        await queue.settle(
            [stored(bot, is_bot=True), stored(late, timestamp=NOON - timedelta(hours=25)), stored(rest[0])],
            [Quarantined(poison, "bad")],
        )
        row = await sender.row(queue)
        assert row.rejected_by_reason == {Reason.NO_BODY: 1, Reason.INVALID_JSON: 1}
        assert (row.received, row.stored, row.duplicate, row.quarantined, row.in_flight) == (9, 3, 1, 1, 2)
        assert (row.late, row.bots, row.balanced) == (1, 1, True)
        assert row.hour == NOON.replace(minute=0)

    async def test_settling_twice_counts_once(self, queue: IngestQueue, sender: Sender) -> None:
        await queue.offer(sender.arrival())
        (waiting,) = await queue.take(10)
        await queue.settle([stored(waiting)], [])
        await queue.settle([stored(waiting)], [])
        row = await sender.row(queue)
        assert (row.received, row.stored, row.in_flight) == (1, 1, 0)

    async def test_a_rejection_alone_is_durable_though_no_event_follows(
        self, queues: Queues, sender: Sender
    ) -> None:
        async with queues() as queue, queues() as reader:
            await queue.reject(sender.workspace, sender.key, Channel.TRACK, Reason.RATE_LIMITED, NOON)
            async with asyncio.timeout(30):
                while not (rows := await sender.rows(reader)):  # noqa: ASYNC110 - it happens by itself
                    await asyncio.sleep(0.01)
        (row,) = rows
        assert (row.received, row.rejected_by_reason) == (1, {Reason.RATE_LIMITED: 1})

    async def test_a_duplicate_that_is_not_offered_is_counted_as_one(
        self, queue: IngestQueue, sender: Sender
    ) -> None:
        await queue.repeat(sender.workspace, sender.key, Channel.WEBHOOK, NOON)
        await queue.offer(sender.arrival(channel=Channel.WEBHOOK))
        row = await sender.row(queue)
        assert (row.received, row.duplicate, row.rejected_by_reason, row.in_flight) == (2, 1, {}, 1)

    async def test_channels_keys_and_hours_are_counted_apart(
        self, queue: IngestQueue, sender: Sender
    ) -> None:
        await queue.offer(sender.arrival("a"))
        await queue.offer(sender.arrival("b", channel=Channel.WEBHOOK))
        await queue.offer(sender.arrival("c", key_id=Sender().key))
        await queue.offer(sender.arrival("d", at=NOON + timedelta(hours=1)))
        rows = await sender.rows(queue)
        assert [row.received for row in rows] == [1, 1, 1, 1]
        assert [row.hour for row in rows] == sorted(row.hour for row in rows)

    async def test_the_ledger_is_asked_by_whole_hours_and_by_workspace(
        self, queue: IngestQueue, sender: Sender
    ) -> None:
        await queue.offer(sender.arrival())
        await queue.offer(Sender().arrival())
        hour = NOON.replace(minute=0)
        assert len(await queue.ledger(sender.workspace, hour, NOON)) == 1
        assert await queue.ledger(sender.workspace, NOON, NOON + timedelta(hours=1)) == []
        assert await queue.ledger(sender.workspace, hour - timedelta(hours=1), hour) == []

    @settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=SHARED)
    @given(steps=STEPS)
    def test_whatever_happens_the_ledger_balances(self, queues: Queues, steps: list[tuple[str, Any]]) -> None:
        asyncio.run(_play(queues, steps))


async def _play(queues: Queues, steps: list[tuple[str, Any]]) -> None:
    sender = Sender()
    known: set[int] = set()
    received = duplicate = 0
    async with _reopening(queues) as reopen:
        queue = await reopen()
        for what, how in steps:
            if what.startswith("offer"):
                arrivals = [sender.arrival(f"e{n}", channel=CHANNELS[what]) for n in how]
                one_by_one = what == "offer"
                answers = await (
                    asyncio.gather(*map(queue.offer, arrivals)) if one_by_one else queue.offer_all(arrivals)
                )
                assert answers.count(Offer.QUEUED) == len(set(how) - known)
                known |= set(how)
                received += len(how)
                duplicate += answers.count(Offer.DUPLICATE)
            elif what == "reject":
                await queue.reject(sender.workspace, sender.key, Channel.BATCH, how, NOON, events=3)
                received += 3
            elif what == "settle":
                await queue.settle([stored(queued) for queued in await queue.take(how)], [])
            elif what == "set aside":
                await queue.settle([], [Quarantined(queued, "r") for queued in await queue.take(how)])
            else:
                queue = await reopen()
            assert all(row.balanced for row in await sender.rows(queue))
        rows = await sender.rows(await reopen())
        assert (sum(r.received for r in rows), sum(r.duplicate for r in rows)) == (received, duplicate)
        assert all(row.balanced for row in rows)


@asynccontextmanager
async def _reopening(queues: Queues) -> AsyncIterator[Any]:
    """Gives a function that closes the queue that is open and opens it again."""
    async with AsyncExitStack() as stack:

        async def reopen() -> IngestQueue:
            await stack.aclose()
            return await stack.enter_async_context(queues())

        yield reopen
