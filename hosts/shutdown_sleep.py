"""A sleep that ends early when the process is told to stop."""

import asyncio


async def sleep_unless_stopped(stop: asyncio.Event, seconds: float) -> bool:
    """Sleeps; returns True after the whole time, False as soon as ``stop`` is set."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return True
    return False
