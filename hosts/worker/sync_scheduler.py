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


async def sync_due_workspaces_until_stopped(connection_sync: ConnectionSync, stop: asyncio.Event) -> None:
    """Syncs every workspace that is due, until ``stop`` is set."""
    busy: dict[UUID, asyncio.Task[None]] = {}
    free = asyncio.Semaphore(MAX_CONCURRENT)
    try:
        while await sleep_unless_stopped(stop, POLL_SECONDS):
            busy = {id_: task for id_, task in busy.items() if not task.done()}
            for id_ in await _due_workspaces_or_log_error(connection_sync):
                if id_ not in busy:
                    busy[id_] = asyncio.create_task(_sync_workspace_or_log_error(connection_sync, id_, free))
    finally:
        for task in busy.values():
            task.cancel()
        await asyncio.gather(*busy.values(), return_exceptions=True)


async def _due_workspaces_or_log_error(connection_sync: ConnectionSync) -> list[UUID]:
    try:
        return await connection_sync.list_due_workspaces()
    except Exception:  # noqa: BLE001 - the next look comes
        _log.exception("it is not known what to read of kind %s", connection_sync.kind)
        return []


async def _sync_workspace_or_log_error(
    connection_sync: ConnectionSync, workspace_id: UUID, concurrency_limit: asyncio.Semaphore
) -> None:
    """Syncs one workspace; errors are logged."""
    async with concurrency_limit:
        try:
            await connection_sync.sync_workspace_unless_leased(workspace_id)
        except Exception:  # noqa: BLE001 - what ails one workspace ends no other
            _log.exception(
                "what workspace %s has connected for %s was not read", workspace_id, connection_sync.kind
            )
