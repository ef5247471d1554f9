"""F18: processes are told to stop and are started again, one after the other, under load: no request fails."""

import asyncio
from itertools import count

import pytest

from hosts.asgi_runner import bind_listeners_with_reuse_port, listener_address
from hosts.ingest.ingest_process import IngestProcess
from service_core.testing.durability_client import HttpConnection
from tests.fault_injection.conftest import FULL

CLIENTS = 6
PATIENCE_SECONDS = 120
"""A guard against hanging: on a busy machine a process takes its time to start."""


class SequentialSender:
    """Sends events one after the other, and never tries one again.

    Either each over a connection of its own, or as many over one as the server takes; each with the next key, so
    that a quick machine stays within the rate of a key.
    """

    def __init__(self, address, keys, numbers, *, keeps):
        self.connection, self.keys, self.numbers = HttpConnection(address, PATIENCE_SECONDS), keys, numbers
        self.headers = {} if keeps else {"Connection": "close"}
        self.sent, self.failed = [], []

    async def work(self, stop):
        while not stop.is_set():
            number = next(self.numbers)
            try:
                status = await self.send(number)
            except (OSError, EOFError) as fault:
                self.failed.append(repr(fault))
            else:
                if status == 200:
                    self.sent.append(f"e{number}")
                else:
                    self.failed.append(status)
        self.connection.close()

    async def send(self, number):
        """The status of the answer."""
        body = b'{"event":"purchase","user_id":"u","event_id":"e%d"}' % number
        key = self.keys[number % len(self.keys)]
        reply = await self.connection.post("/track", body, self.headers | {"X-API-Key": key})
        if "Connection" in self.headers:
            self.connection.close()
        return reply.status


@pytest.mark.faults
@pytest.mark.timeout(300)
@pytest.mark.parametrize("server", ["hypercorn", "uvicorn", "granian"] if FULL else ["hypercorn"])
async def test_rolling_restart_fails_no_request(deployment, server):
    """The sockets belong to whoever starts the processes, so what connects meanwhile waits."""
    listeners = bind_listeners_with_reuse_port("127.0.0.1:0", 2)

    async def start(listener):
        return await IngestProcess.start_and_wait_until_listening(
            deployment.config, listener=listener, server=server
        )

    hosts = [await start(listener) for listener in listeners]
    stop, numbers = asyncio.Event(), count()
    keeping = 0 if server == "granian" else 2  # granian closes a kept connection without a request at once
    clients = [
        SequentialSender(listener_address(listeners[0]), deployment.keys, numbers, keeps=n < keeping)
        for n in range(CLIENTS)
    ]
    working = [asyncio.create_task(client.work(stop)) for client in clients]
    for restart in range(10 if FULL else 1):
        for number, listener in enumerate(listeners):
            seen = sum(len(client.sent) for client in clients)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while sum(len(client.sent) for client in clients) < seen + 30 + restart:
                    await asyncio.sleep(0.005)
            assert await hosts[number].terminate_or_kill_after_timeout() == 0
            hosts[number] = await start(listener)
    stop.set()
    await asyncio.gather(*working)
    for host, listener in zip(hosts, listeners, strict=True):
        assert await host.terminate_or_kill_after_timeout() == 0
        listener.close()
    assert [failure for client in clients for failure in client.failed] == []
    assert sorted(await deployment.kept()) == sorted(sent for client in clients for sent in client.sent)
