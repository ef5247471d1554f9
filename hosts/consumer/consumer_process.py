"""Starts the consumer as a child of the process that owns the event store, and restarts it when it ends."""

import asyncio
import socket
from pathlib import Path

from hosts import monitoring
from hosts.remote_event_store.server import EncodedAppends, serve_event_store
from hosts.subprocesses import Subprocess, restart_with_backoff_until_stopped


async def run_consumer_process_until_stopped(
    config: Path, store: EncodedAppends, stop: asyncio.Event
) -> None:
    """Keeps a consumer process running until ``stop`` is set; its batch under way is finished then.

    One that does not start, or ends, is started again with growing pauses: its database may be away. The reason is on
    standard error.

    Args:
        config: the settings file.
        store: the open event store, to which it appends over a socket.
        stop: ends it.
    """
    connections: set[asyncio.Task[None]] = set()

    async def start_consumer() -> Subprocess:
        own_end, passed_end = socket.socketpair()
        connection = asyncio.create_task(serve_event_store(own_end, store))
        connections.add(connection)
        connection.add_done_callback(connections.discard)
        with passed_end:
            return await Subprocess.launch_and_wait_until_ready(
                "The consumer",
                "hosts.consumer",
                ("--config", str(config)),
                sockets={"--event-store-fd": passed_end},
            )

    try:
        await restart_with_backoff_until_stopped(
            None, start_consumer, stop, monitoring.count_process_end_if_enabled
        )
    finally:
        await asyncio.gather(*connections, return_exceptions=True)  # each ends with its process
