"""Many callers share few calls, and hear of their failure."""

import asyncio

import pytest

from service_core.kernel.call_batching import CallBatcher, gather_results_or_expected_errors


class DoublingService:
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
def doubling_service():
    return DoublingService()


@pytest.fixture
def batcher(doubling_service):
    return CallBatcher(doubling_service.call, lambda fault: RuntimeError(str(fault)), max_batch_size=3)


async def test_callers_during_a_call_share_the_next_batch(doubling_service, batcher):
    doubling_service.open.clear()
    first = batcher.submit_for_next_batch(1)
    await asyncio.sleep(0)
    others = [batcher.submit_for_next_batch(number) for number in range(2, 7)]
    assert len(batcher) == 6
    doubling_service.open.set()
    assert await asyncio.gather(first, *others) == [2, 4, 6, 8, 10, 12]
    assert doubling_service.calls == [[1], [2, 3, 4], [5, 6]]
    await batcher.wait_idle()
    assert len(batcher) == 0


async def test_failure_reaches_current_and_waiting_callers_only(doubling_service, batcher):
    doubling_service.open.clear()
    doubling_service.fault = ValueError("away")
    first = batcher.submit_for_next_batch(1)
    await asyncio.sleep(0)
    second = batcher.submit_for_next_batch(2)
    doubling_service.open.set()
    faults = await asyncio.gather(first, second, return_exceptions=True)
    assert [(type(fault), str(fault)) for fault in faults] == [(RuntimeError, "away")] * 2
    assert faults[0] is not faults[1]
    doubling_service.fault = None
    assert await batcher.submit_for_next_batch(3) == 6


async def test_cancelled_caller_does_not_affect_others(doubling_service, batcher):
    doubling_service.open.clear()
    leaving, staying = batcher.submit_for_next_batch(1), batcher.submit_for_next_batch(2)
    await asyncio.sleep(0)
    leaving.cancel()
    doubling_service.open.set()
    assert await staying == 4


async def test_outcomes_are_returned_when_all_are_known(doubling_service, batcher):
    assert await gather_results_or_expected_errors(
        [batcher.submit_for_next_batch(1), batcher.submit_for_next_batch(2)], LookupError
    ) == [2, 4]
    assert await gather_results_or_expected_errors([], LookupError) == []
    doubling_service.fault = OSError("away")
    found = await gather_results_or_expected_errors(
        [batcher.submit_for_next_batch(1), batcher.submit_for_next_batch(2)], RuntimeError
    )
    assert [str(one) for one in found] == ["away", "away"]
    with pytest.raises(RuntimeError):
        await gather_results_or_expected_errors(
            [batcher.submit_for_next_batch(1), batcher.submit_for_next_batch(2)], LookupError
        )


async def test_cancelled_caller_of_several_values_leaves_none_pending(doubling_service, batcher):
    doubling_service.open.clear()
    requests = [batcher.submit_for_next_batch(1), batcher.submit_for_next_batch(2)]
    waiting = asyncio.create_task(gather_results_or_expected_errors(requests, LookupError))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert all(future.cancelled() for future in requests)
    doubling_service.open.set()
    assert await batcher.submit_for_next_batch(3) == 6
