"""Waiting that ends early when the process is told to stop."""

import asyncio


async def sleep_unless_stopped(stop: asyncio.Event, seconds: float) -> bool:
    """Wait; True when the whole time passed, False when ``stop`` was set meanwhile."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return True
    return False
