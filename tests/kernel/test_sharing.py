"""Many callers share few calls, and hear of their failure."""

import asyncio

import pytest

from service_core.kernel.sharing import Shared, outcomes


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
def desk():
    return Desk()


@pytest.fixture
def shared(desk):
    return Shared(desk.call, lambda fault: RuntimeError(str(fault)), at_most=3)


async def test_those_who_come_during_a_call_share_the_next_one_up_to_its_size(desk, shared):
    desk.open.clear()
    first = shared.ask(1)
    await asyncio.sleep(0)
    others = [shared.ask(number) for number in range(2, 7)]
    assert len(shared) == 6
    desk.open.set()
    assert await asyncio.gather(first, *others) == [2, 4, 6, 8, 10, 12]
    assert desk.calls == [[1], [2, 3, 4], [5, 6]]
    await shared.settled()
    assert len(shared) == 0


async def test_a_failure_reaches_those_asked_and_those_who_wait_and_the_next_caller_is_served(desk, shared):
    desk.open.clear()
    desk.fault = ValueError("away")
    first = shared.ask(1)
    await asyncio.sleep(0)
    second = shared.ask(2)
    desk.open.set()
    faults = await asyncio.gather(first, second, return_exceptions=True)
    assert [(type(fault), str(fault)) for fault in faults] == [(RuntimeError, "away")] * 2
    assert faults[0] is not faults[1]
    desk.fault = None
    assert await shared.ask(3) == 6


async def test_a_caller_who_left_disturbs_nobody(desk, shared):
    desk.open.clear()
    leaving, staying = shared.ask(1), shared.ask(2)
    await asyncio.sleep(0)
    leaving.cancel()
    desk.open.set()
    assert await staying == 4


async def test_what_became_of_each_is_told_once_all_are_decided(desk, shared):
    assert await outcomes([shared.ask(1), shared.ask(2)], LookupError) == [2, 4]
    assert await outcomes([], LookupError) == []
    desk.fault = OSError("away")
    found = await outcomes([shared.ask(1), shared.ask(2)], RuntimeError)
    assert [str(one) for one in found] == ["away", "away"]
    with pytest.raises(RuntimeError):
        await outcomes([shared.ask(1), shared.ask(2)], LookupError)


async def test_whoever_waits_for_several_and_leaves_leaves_none_behind(desk, shared):
    desk.open.clear()
    asked = [shared.ask(1), shared.ask(2)]
    waiting = asyncio.create_task(outcomes(asked, LookupError))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert all(future.cancelled() for future in asked)
    desk.open.set()
    assert await shared.ask(3) == 6
