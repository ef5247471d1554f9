"""Many callers share few calls, and hear of their failure."""

import asyncio

import pytest

from service_core.kernel.call_batching import CallBatcher, gather_results


class Desk:
    """Answers numbers with their doubles, when it is let."""

    def __init__(self):
        self.calls = []
        self.open = asyncio.Event()
        self.open.set()
        self.fault = None

    async def call(self, numbers):
        self.calls.append(list(numbers))
        await self.open.wait()
        if self.fault is not None:
            raise self.fault
        return [2 * number for number in numbers]


@pytest.fixture
def api_client():
    return Desk()


@pytest.fixture
def shared(api_client):
    return CallBatcher(api_client.call, lambda fault: RuntimeError(str(fault)), max_batch_size=3)


async def test_those_who_come_during_a_call_share_the_next_one_up_to_its_size(api_client, shared):
    api_client.open.clear()
    first = shared.submit(1)
    await asyncio.sleep(0)
    others = [shared.submit(number) for number in range(2, 7)]
    assert len(shared) == 6
    api_client.open.set()
    assert await asyncio.gather(first, *others) == [2, 4, 6, 8, 10, 12]
    assert api_client.calls == [[1], [2, 3, 4], [5, 6]]
    await shared.wait_idle()
    assert len(shared) == 0


async def test_a_failure_reaches_those_asked_and_those_who_wait_and_the_next_caller_is_served(
    api_client, shared
):
    api_client.open.clear()
    api_client.fault = ValueError("away")
    first = shared.submit(1)
    await asyncio.sleep(0)
    second = shared.submit(2)
    api_client.open.set()
    faults = await asyncio.gather(first, second, return_exceptions=True)
    assert [(type(fault), str(fault)) for fault in faults] == [(RuntimeError, "away")] * 2
    assert faults[0] is not faults[1]
    api_client.fault = None
    assert await shared.submit(3) == 6


async def test_a_caller_who_left_disturbs_nobody(api_client, shared):
    api_client.open.clear()
    leaving, staying = shared.submit(1), shared.submit(2)
    await asyncio.sleep(0)
    leaving.cancel()
    api_client.open.set()
    assert await staying == 4


async def test_what_became_of_each_is_told_once_all_are_decided(api_client, shared):
    assert await gather_results([shared.submit(1), shared.submit(2)], LookupError) == [2, 4]
    assert await gather_results([], LookupError) == []
    api_client.fault = OSError("away")
    found = await gather_results([shared.submit(1), shared.submit(2)], RuntimeError)
    assert [str(one) for one in found] == ["away", "away"]
    with pytest.raises(RuntimeError):
        await gather_results([shared.submit(1), shared.submit(2)], LookupError)


async def test_whoever_waits_for_several_and_leaves_leaves_none_behind(api_client, shared):
    api_client.open.clear()
    asked = [shared.submit(1), shared.submit(2)]
    waiting = asyncio.create_task(gather_results(asked, LookupError))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert all(future.cancelled() for future in asked)
    api_client.open.set()
    assert await shared.submit(3) == 6
