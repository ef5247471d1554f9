"""The process that owns the event store starts consumers, and serves one connection to each."""

import asyncio
from pathlib import Path

from hosts.consumer import consumer_process


async def test_ended_connection_is_forgotten_and_its_failure_ends_nothing(monkeypatch):
    served = []

    async def fail(connection, store):
        served.append(store)
        connection.close()
        raise OSError("the consumer has gone")

    async def launch(*_, **__):
        return None

    async def start_twice(_, start_consumer, stop, count_end):
        for _ in range(2):
            await start_consumer()
            await asyncio.sleep(0)

    monkeypatch.setattr(consumer_process, "serve_event_store", fail)
    monkeypatch.setattr(consumer_process.Subprocess, "launch_and_wait_until_ready", launch)
    monkeypatch.setattr(consumer_process, "restart_with_backoff_until_stopped", start_twice)
    store = object()
    await consumer_process.run_consumer_process_until_stopped(Path("x.toml"), store, asyncio.Event())
    assert served == [store, store]  # of the first consumer and of the next; no failure came out of the call
