"""Conversions are sent beside everything else: no account waits for another, and calls end before the process does."""

import asyncio

import pytest

from hosts.worker import postbacks
from service_core.delivery.postbacks.postback import PostbackQueue
from tests.fixtures.waiting import wait_until

SLOW, BROKEN, WELL = (PostbackQueue(None, "adhub", name) for name in ("slow", "broken", "well"))


class Delivery:
    """Accounts that always have something: one is never done, one fails, one is sent to in no time."""

    def __init__(self):
        self.begun, self.ended, self.looks, self.patient = [], [], 0, False

    async def list_due_queues(self):
        self.looks += 1
        if self.looks == 2:
            raise OSError("the store is away")
        return [SLOW, BROKEN, WELL]

    async def deliver_queue_unless_leased(self, queue, stopping):
        self.begun.append(queue)
        try:
            if queue == BROKEN:
                raise KeyError("a fault of ours")
            while queue == SLOW and not (self.patient and stopping()):
                await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append(queue)


@pytest.fixture
def delivery(monkeypatch):
    monkeypatch.setattr(postbacks, "POLL_SECONDS", 0.001)
    return Delivery()


async def test_slow_account_does_not_delay_other_accounts(delivery):
    stop = asyncio.Event()
    delivery.patient = True
    work = asyncio.create_task(postbacks.send_due_postbacks_until_stopped(delivery, stop))
    await wait_until(lambda: min(delivery.begun.count(BROKEN), delivery.begun.count(WELL)) >= 3)
    assert delivery.begun.count(SLOW) == 1
    stop.set()
    await work
    assert SLOW in delivery.ended
    assert "cancelled" not in delivery.ended


async def test_endless_call_is_cancelled_on_shutdown(delivery, monkeypatch):
    monkeypatch.setattr(postbacks, "DRAIN_TIMEOUT_SECONDS", 0.01)
    stop = asyncio.Event()
    work = asyncio.create_task(postbacks.send_due_postbacks_until_stopped(delivery, stop))
    await wait_until(lambda: SLOW in delivery.begun)
    stop.set()
    await work
    assert "cancelled" in delivery.ended
