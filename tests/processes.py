"""Processes that tests start: each ends with its test, whatever becomes of the test.

One that does not say in time what it has to, or does not end in time when it is told to, tells where it stands
(every child of the tests has `faulthandler` on, which answers SIGABRT), and fails the test.
"""

import asyncio
import signal
import subprocess
import time
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import Timer

READY_WITHIN_SECONDS = 100
ENDS_WITHIN_SECONDS = 60
TELLS_WITHIN_SECONDS = 10


@contextmanager
def child(command, **options):
    """A process inside the block, told to end after it; one whose test failed is killed."""
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
        end(process)
    finally:
        process.kill()  # nothing for one that has ended
        process.wait()
        if process.stdout:
            process.stdout.close()


def end(process, *, within=ENDS_WITHIN_SECONDS):
    """The exit code of a process that is told to end, unless it has."""
    process.terminate()
    try:
        return process.wait(within)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(TELLS_WITHIN_SECONDS)
        raise AssertionError(f"{process.args} did not end within {within} seconds") from None


def said(process, lines, *, within=READY_WITHIN_SECONDS):
    """The first lines a process says, as first word -> the other one."""
    late = Timer(within, process.send_signal, [signal.SIGABRT])
    late.start()
    try:
        found = dict(line.split() for line in islice(process.stdout, lines))
    finally:
        late.cancel()
    assert len(found) == lines, f"{process.args} said {found} and no more"
    return found


@asynccontextmanager
async def started(*command, **options):
    """The same on an event loop, for a process whose output is a pipe."""
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, **options)
    try:
        yield process
        await ended(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def ended(process, *, within=ENDS_WITHIN_SECONDS):
    """The exit code of such a process, which is told to end unless it has."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(within):
            return await process.wait()
    except TimeoutError:
        process.send_signal(signal.SIGABRT)
        with suppress(TimeoutError):
            async with asyncio.timeout(TELLS_WITHIN_SECONDS):
                await process.wait()
        raise AssertionError(f"process {process.pid} did not end within {within} seconds") from None


async def heard(process, lines, *, within=READY_WITHIN_SECONDS):
    """The first lines such a process says, as first word -> the other one."""
    found = {}
    try:
        async with asyncio.timeout(within):
            while len(found) < lines and (line := await process.stdout.readline()):
                name, rest = line.decode().split()
                found[name] = rest
    except TimeoutError:
        process.send_signal(signal.SIGABRT)
    assert len(found) == lines, f"process {process.pid} said {found} and no more"
    return found


def children_of(pid):
    """Ids of the processes one started; each of its threads may have."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread may end any time
            found += map(int, task.read_text().split())
    return found


def runs(pid):
    """Whether a process is there and has not ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def gone(pids, *, within=ENDS_WITHIN_SECONDS):
    """Wait for the end of processes that somebody else started."""
    deadline = time.monotonic() + within
    while left := [pid for pid in pids if runs(pid)]:
        assert time.monotonic() < deadline, f"{left} did not end within {within} seconds"
        time.sleep(0.01)
