"""What is asked together ends together."""

import asyncio
from functools import partial

import pytest

from service_core.kernel.async_gather import gather_at_most, gather_or_cancel


async def value_after_event(event, value):
    await event.wait()
    return value


async def test_results_are_in_the_order_of_the_awaitables():
    event = asyncio.Event()

    async def opens(value):
        event.set()
        return value

    assert await gather_or_cancel(value_after_event(event, 1), opens("two")) == (1, "two")
    assert await gather_or_cancel() == ()


@pytest.fixture
def endless_awaitable():
    """Something that takes for ever, and a word on how it ended."""
    ended = []

    async def asked():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # what it holds takes a moment to give back
            ended.append("given up")

    return asked, ended


async def test_error_is_raised_after_the_others_are_cancelled(endless_awaitable):
    request, ended = endless_awaitable

    async def fails():
        await asyncio.sleep(0)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await gather_or_cancel(request(), fails(), request())
    assert ended == ["given up"] * 2
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelled_caller_cancels_all_tasks(endless_awaitable):
    request, ended = endless_awaitable
    asking = asyncio.create_task(gather_or_cancel(request(), request()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert ended == ["given up"] * 2


async def test_at_most_the_limit_runs_at_the_same_time():
    running, most = set(), 0

    async def read(number):
        nonlocal most
        running.add(number)
        most = max(most, len(running))
        await asyncio.sleep(0)
        running.discard(number)
        return number

    assert await gather_at_most(3, (partial(read, number) for number in range(7))) == tuple(range(7))
    assert most == 3
