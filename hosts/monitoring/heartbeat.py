"""The sign of life of a process, with what its probes see."""

import asyncio
import time

from hosts.monitoring import meters
from hosts.waiting import waited
from service_core.gateway.readiness import Readiness


async def beat(role: str, readiness: Readiness, seconds: float, stop: asyncio.Event) -> None:
    """Beat now and then every so many seconds until ``stop`` is set."""
    while True:
        reading = await readiness.read()
        for check, holds in reading.checks.items():
            meters.CHECK.labels(role, check).set(holds)
        meters.BEAT.labels(role).set(time.time())
        if not await waited(stop, seconds):
            return
