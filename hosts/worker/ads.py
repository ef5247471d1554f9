"""Reading ad platforms beside everything else: each workspace for itself, none waits for another."""

import asyncio
import logging
from typing import Final
from uuid import UUID

from hosts.waiting import waited
from service_core.commerce.ads.reading import AdReading

LOOK_SECONDS: Final = 60
TOGETHER: Final = 16
"""Workspaces that are read at the same time: each holds the rows of one question at most."""

_log: Final = logging.getLogger("touchpoint.ads")


async def read_ads(reading: AdReading, stop: asyncio.Event) -> None:
    """Look again and again which workspaces are due, and read them, until ``stop`` is set."""
    busy: dict[UUID, asyncio.Task[None]] = {}
    free = asyncio.Semaphore(TOGETHER)
    try:
        while await waited(stop, LOOK_SECONDS):
            busy = {id_: task for id_, task in busy.items() if not task.done()}
            for id_ in await _due(reading):
                if id_ not in busy:
                    busy[id_] = asyncio.create_task(_read(reading, id_, free))
    finally:
        for task in busy.values():
            task.cancel()
        await asyncio.gather(*busy.values(), return_exceptions=True)


async def _due(reading: AdReading) -> list[UUID]:
    try:
        return await reading.due()
    except Exception:  # noqa: BLE001 - the next look comes
        _log.exception("it is not known which ad platforms to read")
        return []


async def _read(reading: AdReading, workspace_id: UUID, free: asyncio.Semaphore) -> None:
    """Read a workspace; what goes wrong is logged, and the next look comes."""
    async with free:
        try:
            await reading.read(workspace_id)
        except Exception:  # noqa: BLE001 - what ails one workspace ends no other
            _log.exception("ad platforms of workspace %s were not read", workspace_id)
