"""The head of an answer leaves with its body, and alone only while there is no body."""

import asyncio
from asyncio import selector_events

import pytest

from hosts.http.app import create_api_app
from hosts.servers.joined_writes import JoinedWrites
from tests.hosts.http.conftest import run_server

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"


class RecordedTransport:
    """Keeps what is written and done."""

    def __init__(self):
        self.calls = []

    def write(self, data):
        self.calls.append(bytes(data))

    def writelines(self, list_of_data):
        self.calls += list_of_data

    def write_eof(self):
        self.calls.append("eof")

    def close(self):
        self.calls.append("close")

    def abort(self):
        self.calls.append("abort")

    def get_write_buffer_size(self):
        return 0

    def is_closing(self):
        return "close" in self.calls


async def test_head_is_written_with_the_body_that_follows_at_once():
    transport = RecordedTransport()
    joined = JoinedWrites(transport, 60)
    joined.write(HEAD)
    joined.write(b"ok")
    joined.write(b"more")
    assert transport.calls == [HEAD + b"ok", b"more"]
    await asyncio.sleep(0)
    assert transport.calls == [HEAD + b"ok", b"more"]


async def test_head_without_a_body_is_written_when_the_loop_goes_on():
    transport = RecordedTransport()
    joined = JoinedWrites(transport, 60)
    joined.write(HEAD)
    assert transport.calls == []
    await asyncio.sleep(0)
    joined.write(b"ok")
    assert transport.calls == [HEAD, b"ok"]


async def test_pieces_written_together_follow_a_held_head():
    transport = RecordedTransport()
    joined = JoinedWrites(transport, 60)
    joined.write(HEAD)
    joined.writelines([b"o", b"k"])
    assert transport.calls == [HEAD + b"ok"]


@pytest.mark.parametrize(("end", "said"), [("close", "close"), ("write_eof", "eof")])
async def test_held_head_is_written_before_the_end(end, said):
    transport = RecordedTransport()
    joined = JoinedWrites(transport, 60)
    joined.write(HEAD)
    getattr(joined, end)()
    assert transport.calls == [HEAD, said]
    await asyncio.sleep(0)
    assert transport.calls == [HEAD, said]
    assert joined.is_closing() == (end == "close")


@pytest.mark.parametrize("server", ["hypercorn", "uvicorn"])
async def test_answer_is_one_write(echo, server, monkeypatch):
    written = []
    write = selector_events._SelectorSocketTransport.write

    def record_and_write(transport, data):
        written.append(bytes(data))
        write(transport, data)

    monkeypatch.setattr(selector_events._SelectorSocketTransport, "write", record_and_write)
    async with run_server(create_api_app(echo), server) as live:
        status, _, body = await live.ask("GET", "/x")
    assert status == 200
    (answer,) = [data for data in written if data.startswith(b"HTTP/1.1 200")]
    assert answer.endswith(b"\r\n\r\n" + body)


async def test_connection_of_http2_may_be_older_than_the_time_of_an_answer(monkeypatch):
    transport, loop = RecordedTransport(), asyncio.get_running_loop()
    joined, now = JoinedWrites(transport, 1_000), loop.time
    joined.write(b"\0\0\0\4\0\0\0\0\0")
    monkeypatch.setattr(loop, "time", lambda: now() + 2_000)
    monkeypatch.setattr(transport, "get_write_buffer_size", lambda: len(transport.calls) - 1)
    joined.write(b"a frame that the client has not read yet")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert "abort" not in transport.calls
    joined.cancel_deadline()
