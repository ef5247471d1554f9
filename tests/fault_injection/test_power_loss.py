"""F3: what counts after a loss of power is what was synced; the system calls show that nothing is answered before."""

import asyncio
import re
import shutil
from contextlib import asynccontextmanager

import pytest

from service_core.testing.durability_client import HttpConnection
from tests.fixtures.processes import running_async_process

EVENTS = 12
TRACED_SYSCALLS = "trace=pwrite64,fsync,fdatasync,write,writev,sendto,sendmsg"
LINE = re.compile(r"\d+ +(?P<call>\w+)\(\d+<(?P<file>[^>]*)>(?P<rest>.*)")


def syscall_kind(line):
    """What a line of the trace is about: a write to the log of the queue, its sync, an answer, or nothing."""
    found = LINE.match(line)
    if found is None:
        return ""
    if found["file"].endswith("spool.db-wal"):
        return "sync" if found["call"] in {"fsync", "fdatasync"} else "write"
    return "answer" if '"HTTP/1.1 200' in found["rest"] else ""


@pytest.fixture
def strace():
    return shutil.which("strace") or pytest.skip("strace is not installed")


@asynccontextmanager
async def trace_ingest_host(strace, pid, file):
    """The calls of a process inside the block are in the file after it."""
    command = [strace, "-f", "-y", "-e", TRACED_SYSCALLS, "-o", str(file), "-p", str(pid)]
    async with running_async_process(*command, stderr=asyncio.subprocess.PIPE) as tracer:
        result = await tracer.stderr.readline()
        if b"attached" not in result:
            pytest.skip(f"this account may not trace: {result.decode()}")
        yield


@pytest.mark.faults
async def test_every_event_is_on_disk_before_it_is_acknowledged(deployment, strace, tmp_path):
    trace = tmp_path / "calls"
    async with deployment.ingest() as child, trace_ingest_host(strace, child.process.pid, trace):
        connection = HttpConnection(child.address)
        for number in range(EVENTS):
            body = b'{"event":"purchase","user_id":"u","event_id":"e%d"}' % number
            reply = await connection.post("/track", body, {"X-API-Key": deployment.keys[0]})
            assert reply.status == 200
        connection.close()
    result = "".join(syscall_kind(line)[:1] for line in trace.read_text().splitlines())
    assert re.fullmatch(rf"s*(w+s+a){{{EVENTS}}}[ws]*", result), result
