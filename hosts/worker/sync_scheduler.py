"""Runs syncs of connected platforms in the background, one task per workspace."""

import asyncio
import logging
from typing import Final
from uuid import UUID

from hosts.shutdown_sleep import sleep_unless_stopped
from service_core.commerce.sync.connection_sync import ConnectionSync

POLL_SECONDS: Final = 60
MAX_CONCURRENT: Final = 16
"""Workspaces that are read at the same time: each holds the rows of one question at most."""

_log: Final = logging.getLogger("touchpoint.rounds")


async def run_sync_scheduler(rounds: ConnectionSync, stop: asyncio.Event) -> None:
    """Syncs every workspace that is due, until ``stop`` is set."""
    busy: dict[UUID, asyncio.Task[None]] = {}
    free = asyncio.Semaphore(MAX_CONCURRENT)
    try:
        while await sleep_unless_stopped(stop, POLL_SECONDS):
            busy = {id_: task for id_, task in busy.items() if not task.done()}
            for id_ in await _due_workspaces(rounds):
                if id_ not in busy:
                    busy[id_] = asyncio.create_task(_sync_workspace(rounds, id_, free))
    finally:
        for task in busy.values():
            task.cancel()
        await asyncio.gather(*busy.values(), return_exceptions=True)


async def _due_workspaces(rounds: ConnectionSync) -> list[UUID]:
    try:
        return await rounds.due_workspaces()
    except Exception:  # noqa: BLE001 - the next look comes
        _log.exception("it is not known what to read of kind %s", rounds.kind)
        return []


async def _sync_workspace(rounds: ConnectionSync, workspace_id: UUID, free: asyncio.Semaphore) -> None:
    """Syncs one workspace; errors are logged."""
    async with free:
        try:
            await rounds.sync_workspace(workspace_id)
        except Exception:  # noqa: BLE001 - what ails one workspace ends no other
            _log.exception("what workspace %s has connected for %s was not read", workspace_id, rounds.kind)
