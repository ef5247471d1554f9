"""Runs `touchpoint serve` in a process of its own for the length of the demo, as a person would start it."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hosts.subprocesses import STOP_TIMEOUT_SECONDS
from service_core.kernel.errors import StartupError
from service_core.kernel.private_files import create_private_file


@dataclass(frozen=True, slots=True)
class RunningService:
    """A running service: the URLs of its API and ingest host, and its process id."""

    api: str
    ingest: str
    pid: int


@contextmanager
def serve_in_subprocess(config: Path, api: str, ingest: str) -> Iterator[RunningService]:
    """Run `touchpoint serve` inside the block.

    When the service ends by itself, the block is interrupted (on the main thread) and its error is raised.

    Args:
        config: settings file of the deployment.
        api, ingest: ``HOST:PORT``; port 0 takes a free one.

    Raises:
        StartupError: the service did not start, or ended inside the block. The message holds the last line of
            its log, ``serve.log`` beside the settings.
    """
    command = [
        sys.executable, "-m", "hosts.cli", "serve",
        "--config", str(config), "--api", api, "--ingest", ingest,
    ]  # fmt: skip
    log = config.parent / "serve.log"
    create_private_file(log)
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,  # noqa: S603 - our own command
    ):
        is_stopping = threading.Event()
        try:
            addresses = _read_printed_urls_or_raise(process, log)
            with _not_ignoring_sigint():
                threading.Thread(target=_interrupt_at_end, args=(process, is_stopping), daemon=True).start()
                yield RunningService(addresses["api"], addresses["ingest"], process.pid)
        except BaseException as error:
            if (
                not isinstance(error, StartupError) and process.poll()
            ):  # it ended by an error of its own, and what failed here follows from that
                raise StartupError(f"The service ended: {last_logged_error(log)}") from error
            raise
        finally:
            is_stopping.set()
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def _not_ignoring_sigint() -> Iterator[None]:
    """Let SIGINT interrupt the block in a background job, too, which a shell starts with SIGINT ignored."""
    is_main_thread = threading.current_thread() is threading.main_thread()
    if not is_main_thread or signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _read_printed_urls_or_raise(process: subprocess.Popen[str], log: Path) -> dict[str, str]:
    """Return the URLs that `touchpoint serve` prints when it is ready, by ``api`` and ``ingest``."""
    assert process.stdout is not None
    lines = (process.stdout.readline(), process.stdout.readline())
    addresses = dict(line.split() for line in lines if line)
    if set(addresses) != {"api", "ingest"}:
        process.wait(STOP_TIMEOUT_SECONDS)
        raise StartupError(f"The service did not start: {last_logged_error(log)}")
    return addresses


def last_logged_error(log: Path) -> str:
    """Return the last message of a service's log; of a record with an exception, the exception's last line."""
    lines = log.read_text(errors="replace").strip().splitlines()
    if not lines:
        return f"it wrote nothing to {log}"
    try:
        record = json.loads(lines[-1])
    except ValueError:
        return lines[-1]
    causes = [line.lstrip(" |+-") for line in str(record.get("exception", "")).splitlines()]
    return next((cause for cause in reversed(causes) if cause), str(record.get("event", lines[-1])))


def _interrupt_at_end(process: subprocess.Popen[str], stopping: threading.Event) -> None:
    """Send SIGINT to this process when the service ends by an error before ``stopping`` is set."""
    if process.wait() and not stopping.is_set():
        os.kill(os.getpid(), signal.SIGINT)
