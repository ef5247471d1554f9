"""Conformance tests of the ledger: it counts every received event in exactly one state."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Any, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service_core.ingestion.models import IngestEndpoint, QuarantinedEvent, RejectionReason
from service_core.ingestion.ports import EnqueueResult, IngestQueue
from service_core.testing.queue.kit import NOON, IngestQueueKit, OpenQueue, WriteKeyClient, make_stored_event

OPERATIONS: Final = st.lists(
    st.one_of(
        st.tuples(st.just("offer"), st.lists(st.integers(0, 6), min_size=1, max_size=40)),
        st.tuples(st.just("offer all"), st.lists(st.integers(0, 6), max_size=40)),
        st.tuples(st.just("reject"), st.sampled_from(list(RejectionReason))),
        st.tuples(st.just("acknowledge"), st.integers(1, 5)),
        st.tuples(st.just("quarantine"), st.integers(1, 2)),
        st.tuples(st.just("reopen"), st.none()),
    ),
    max_size=12,
)

ENDPOINTS: Final = {"offer": IngestEndpoint.TRACK, "offer all": IngestEndpoint.BATCH}

SUPPRESSED_HEALTH_CHECKS: Final = (
    HealthCheck.function_scoped_fixture,
    HealthCheck.differing_executors,
    HealthCheck.too_slow,
)
"""One queue serves all examples; each example has a client of its own."""


class LedgerCounts(IngestQueueKit):
    """Tests of ledger counts and of their balance."""

    async def test_stored_events_with_unused_parts_are_counted_by_reason(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """Parts of stored events that could not be used are counted by reason, once, and change no other count."""
        for number in range(3):
            await queue.offer(client.make_received_event(f"e{number}"))
        taken = await queue.take(10)
        ignored = {taken[0].seq: ("money_ignored", "id_cut"), taken[1].seq: ("money_ignored",)}
        for _ in range(2):
            await queue.acknowledge([make_stored_event(queued) for queued in taken], [], ignored)
        row = await client.only_ledger_row(queue)
        assert row.ignored_by_reason == {"id_cut": 1, "money_ignored": 2}
        assert (row.stored, row.rejected_by_reason, row.is_balanced) == (3, {}, True)

    async def test_dropped_events_are_counted_as_rejected_by_reason_once(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """Dropped events leave the queue and are counted as rejected with their reason, once; the row balances."""
        for number in range(3):
            await queue.offer(client.make_received_event(f"e{number}"))
        first, *others = await queue.take(10)
        for _ in range(2):
            await queue.acknowledge(
                [make_stored_event(first)], [], {}, {queued.seq: "dropped:drop:path" for queued in others}
            )
        row = await client.only_ledger_row(queue)
        assert row.rejected_by_reason == {"dropped:drop:path": 2}
        assert (row.received, row.stored, row.quarantined, row.in_flight) == (3, 1, 0, 0)
        assert row.is_balanced
        assert await queue.take(10) == []

    async def test_ledger_row_balances_over_stored_duplicate_rejected_and_quarantined_events(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """One hour's row counts each state, rejections by reason, late events and bots, and balances."""
        await asyncio.gather(*(queue.offer(client.make_received_event(f"e{n}")) for n in range(5)))
        await queue.offer(client.make_received_event("e0"))
        for reason in (RejectionReason.NO_BODY, RejectionReason.INVALID_JSON):
            await queue.count_rejected(client.workspace_id, client.key_id, IngestEndpoint.TRACK, reason, NOON)
        await queue.offer(client.make_received_event("e5"))
        bot, late, poison, *rest = await queue.take(10)
        await queue.acknowledge(
            [
                make_stored_event(bot, is_bot=True),
                make_stored_event(late, timestamp=NOON - timedelta(hours=24, microseconds=1)),
                make_stored_event(rest[0], timestamp=NOON - timedelta(hours=24)),
            ],
            [QuarantinedEvent(poison, "bad")],
        )
        row = await client.only_ledger_row(queue)
        assert row.rejected_by_reason == {RejectionReason.NO_BODY: 1, RejectionReason.INVALID_JSON: 1}
        assert (row.received, row.stored, row.duplicate, row.quarantined, row.in_flight) == (9, 3, 1, 1, 2)
        assert (row.late, row.bots, row.is_balanced) == (1, 1, True)
        assert row.hour == NOON.replace(minute=0)

    async def test_acknowledging_twice_counts_once(self, queue: IngestQueue, client: WriteKeyClient) -> None:
        """Acknowledging an event twice counts it as stored once."""
        await queue.offer(client.make_received_event())
        (waiting,) = await queue.take(10)
        await queue.acknowledge([make_stored_event(waiting)], [])
        await queue.acknowledge([make_stored_event(waiting)], [])
        row = await client.only_ledger_row(queue)
        assert (row.received, row.stored, row.in_flight) == (1, 1, 0)

    async def test_rejection_becomes_visible_to_other_processes_without_further_events(
        self, open_queue: OpenQueue, client: WriteKeyClient
    ) -> None:
        """A counted rejection reaches another process within 30 seconds although no event follows."""
        async with open_queue() as queue, open_queue() as reader:
            await queue.count_rejected(
                client.workspace_id, client.key_id, IngestEndpoint.TRACK, RejectionReason.RATE_LIMITED, NOON
            )
            async with asyncio.timeout(30):
                while not (rows := await client.own_ledger_rows(reader)):  # noqa: ASYNC110 - it happens by itself
                    await asyncio.sleep(0.01)
        (row,) = rows
        assert (row.received, row.rejected_by_reason) == (1, {RejectionReason.RATE_LIMITED: 1})

    async def test_count_duplicate_counts_as_received_and_duplicate(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """`count_duplicate` counts one received and one duplicate event."""
        await queue.count_duplicate(client.workspace_id, client.key_id, IngestEndpoint.WEBHOOK, NOON)
        await queue.offer(client.make_received_event(channel=IngestEndpoint.WEBHOOK))
        row = await client.only_ledger_row(queue)
        assert (row.received, row.duplicate, row.rejected_by_reason, row.in_flight) == (2, 1, {}, 1)

    async def test_ledger_rows_are_separate_per_endpoint_key_and_hour(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """Each endpoint, write key and hour has a row; rows come by hour."""
        await queue.offer(client.make_received_event("a"))
        await queue.offer(client.make_received_event("b", channel=IngestEndpoint.WEBHOOK))
        await queue.offer(client.make_received_event("c", key_id=WriteKeyClient().key_id))
        await queue.offer(client.make_received_event("d", received_at=NOON + timedelta(hours=1)))
        rows = await client.own_ledger_rows(queue)
        assert [row.received for row in rows] == [1, 1, 1, 1]
        assert [row.hour for row in rows] == sorted(row.hour for row in rows)

    async def test_ledger_rows_are_selected_by_whole_hours_and_workspace(
        self, queue: IngestQueue, client: WriteKeyClient
    ) -> None:
        """`ledger_rows` returns the rows of one workspace whose hour begins in the range.

        The end is left out.
        """
        await queue.offer(client.make_received_event())
        await queue.offer(WriteKeyClient().make_received_event())
        hour = NOON.replace(minute=0)
        assert len(await queue.ledger_rows(client.workspace_id, hour, NOON)) == 1
        assert await queue.ledger_rows(client.workspace_id, NOON, NOON + timedelta(hours=1)) == []
        assert await queue.ledger_rows(client.workspace_id, hour - timedelta(hours=1), hour) == []

    @settings(
        max_examples=15, deadline=None, derandomize=True, suppress_health_check=SUPPRESSED_HEALTH_CHECKS
    )
    @given(steps=OPERATIONS)
    def test_ledger_balances_after_any_sequence_of_queue_operations(
        self, open_queue: OpenQueue, steps: list[tuple[str, Any]]
    ) -> None:
        """After any sequence of offers, rejections, acknowledgements, quarantines and reopenings each row balances."""
        asyncio.run(_run_operations_and_check_ledger(open_queue, steps))


async def _run_operations_and_check_ledger(open_queue: OpenQueue, operations: list[tuple[str, Any]]) -> None:
    """Runs the operations on one queue; asserts after each one that the ledger balances, and at the end its counts."""
    client = WriteKeyClient()
    queued_numbers: set[int] = set()
    keyed_numbers: set[int] = set()
    received = duplicate = 0
    async with _reopenable_queue(open_queue) as reopen:
        queue = await reopen()
        for operation, argument in operations:
            if operation.startswith("offer"):
                arrivals = [
                    client.make_received_event(f"e{n}", channel=ENDPOINTS[operation]) for n in argument
                ]
                one_by_one = operation == "offer"
                results = await (
                    asyncio.gather(*map(queue.offer, arrivals)) if one_by_one else queue.offer_all(arrivals)
                )
                keyed = one_by_one
                claimed = keyed_numbers if keyed else queued_numbers
                assert results.count(EnqueueResult.QUEUED) == len(set(argument) - claimed)
                queued_numbers |= set(argument)
                keyed_numbers |= set(argument) if keyed else set()
                received += len(argument)
                duplicate += results.count(EnqueueResult.DUPLICATE)
            elif operation == "reject":
                await queue.count_rejected(
                    client.workspace_id, client.key_id, IngestEndpoint.BATCH, argument, NOON, event_count=3
                )
                received += 3
            elif operation == "acknowledge":
                await queue.acknowledge(
                    [make_stored_event(queued) for queued in await queue.take(argument)], []
                )
            elif operation == "quarantine":
                await queue.acknowledge(
                    [], [QuarantinedEvent(queued, "r") for queued in await queue.take(argument)]
                )
            else:
                queue = await reopen()
            assert all(row.is_balanced for row in await client.own_ledger_rows(queue))
        rows = await client.own_ledger_rows(await reopen())
        assert (sum(r.received for r in rows), sum(r.duplicate for r in rows)) == (received, duplicate)
        assert all(row.is_balanced for row in rows)


@asynccontextmanager
async def _reopenable_queue(open_queue: OpenQueue) -> AsyncIterator[Any]:
    """Yields a function that opens the queue, after it closed the one it opened before."""
    async with AsyncExitStack() as stack:

        async def reopen() -> IngestQueue:
            await stack.aclose()
            return await stack.enter_async_context(open_queue())

        yield reopen
