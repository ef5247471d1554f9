"""F4: every single call on the file fails once; no half of an event, a claim or a count stays."""

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from plugins.ingest_spool.adapter import SpoolQueue
from plugins.ingest_spool.settings import SpoolSettings
from service_core.ingestion.models import (
    Event,
    IngestEndpoint,
    QuarantinedEvent,
    ReceivedEvent,
    RejectionReason,
)
from service_core.ingestion.ports import EnqueueFailed, EnqueueResult

NOON = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)
ID = UUID(int=7)


class FailingConnection:
    """A connection whose n-th statement fails, before or after it took effect."""

    def __init__(self, connection: sqlite3.Connection, plan: "FailurePlan") -> None:
        self._connection = connection
        self._plan = plan

    def execute(self, *statement):
        self._plan.calls += 1
        failing = self._plan.calls == self._plan.at
        if failing and not self._plan.after:
            raise sqlite3.OperationalError("disk I/O error")
        try:
            return self._connection.execute(*statement)
        finally:
            if failing:
                raise sqlite3.OperationalError("disk I/O error")

    def __getattr__(self, name):
        return getattr(self._connection, name)


class FailurePlan:
    def __init__(self, at: int, *, after: bool) -> None:
        self.at, self.after, self.calls = at, after, 0


class FailingSpool(SpoolQueue):
    plan = FailurePlan(0, after=False)

    def _connect_for_offers(self):
        return FailingConnection(super()._connect_for_offers(), self.plan)


def make_arrival(event_id: str) -> ReceivedEvent:
    return ReceivedEvent(ID, ID, IngestEndpoint.TRACK, event_id, True, NOON, b'{"event":"a"}', None, None, {})


def stored_event(queued) -> Event:
    return Event(
        event_id=queued.arrival.event_id, event_name="a", timestamp=NOON, received_at=NOON, visitor_id="v",
        session_id="s", workspace_id=ID, seq=queued.seq,
    )  # fmt: skip


async def assert_ledger_balances(queue: SpoolQueue):
    rows = await queue.ledger_rows(ID, NOON - timedelta(hours=1), NOON)
    assert all(row.is_balanced for row in rows)
    return rows


async def open_failing_spool(folder, plan: FailurePlan) -> FailingSpool:
    queue = FailingSpool(SpoolSettings(url="spool:///x", path=folder / "x.db"))
    await queue.start()
    queue.plan = queue._writer._connection._plan = plan
    return queue


@pytest.mark.parametrize("after", [False, True], ids=["before it took effect", "after it took effect"])
async def test_offer_with_a_failing_nth_statement_is_refused_whole_and_can_be_retried(tmp_path, after):
    for n in range(1, 30):
        folder = tmp_path / str(n)
        queue = await open_failing_spool(folder, plan := FailurePlan(n, after=after))
        await queue.count_rejected(ID, ID, IngestEndpoint.TRACK, RejectionReason.NO_BODY, NOON)
        first = await asyncio.gather(*map(queue.offer, map(make_arrival, "aab")), return_exceptions=True)
        failed = plan.calls >= n
        assert all(isinstance(f, EnqueueFailed) and f.detail in {"queue", "claim"} for f in first) == failed
        plan.at = 0
        again = await asyncio.gather(*map(queue.offer, map(make_arrival, "ab")))
        committed = first[0] is EnqueueResult.QUEUED or (failed and set(again) == {EnqueueResult.DUPLICATE})
        assert set(again) == ({EnqueueResult.DUPLICATE} if committed else {EnqueueResult.QUEUED})
        assert not failed or after or set(again) == {EnqueueResult.QUEUED}
        assert [q.arrival.event_id for q in await queue.take(10)] == ["a", "b"]
        await assert_ledger_balances(queue)
        await queue.aclose()
        if not failed:
            break
    assert n > 4, "the loop tried every call of a commit"
    assert not failed


async def test_acknowledgement_with_a_failing_nth_statement_keeps_the_batch(tmp_path):
    for n in range(1, 30):
        queue = await open_failing_spool(tmp_path / str(n), FailurePlan(0, after=False))
        await asyncio.gather(*map(queue.offer, map(make_arrival, "abc")))
        one, two, three = await queue.take(10)
        queue._writer._connection._plan = plan = FailurePlan(n, after=False)
        try:
            await queue.acknowledge([stored_event(one), stored_event(two)], [QuarantinedEvent(three, "bad")])
        except sqlite3.OperationalError:
            assert len(await queue.take(10)) == 3
            await assert_ledger_balances(queue)
            queue.plan = FailurePlan(0, after=False)
            await queue.acknowledge([stored_event(one), stored_event(two)], [QuarantinedEvent(three, "bad")])
        failed = plan.calls >= n
        (row,) = await assert_ledger_balances(queue)
        assert (row.stored, row.quarantined, row.in_flight) == (2, 1, 0)
        await queue.aclose()
        if not failed:
            break
    assert n > 5
    assert not failed
