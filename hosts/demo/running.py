"""The service of the demo, as a person would start it: the same command, in a process of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hosts.children import STOP_WITHIN_SECONDS
from service_core.kernel.errors import StartupError


@dataclass(frozen=True, slots=True)
class Running:
    """Where the service listens."""

    api: str
    ingest: str


@contextmanager
def running_service(config: Path, api: str, ingest: str) -> Iterator[Running]:
    """`touchpoint serve` for the length of the context.

    Args:
        config: settings file of the deployment.
        api, ingest: ``HOST:PORT``; port 0 takes a free one.

    Raises:
        StartupError: it did not start; its own words stand in ``serve.log`` beside the settings.
    """
    command = [
        sys.executable,
        "-m",
        "hosts.cli",
        "serve",
        "--config",
        str(config),
        "--api",
        api,
        "--ingest",
        ingest,
    ]
    log = config.parent / "serve.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,  # noqa: S603 - our own command
    ):
        assert process.stdout is not None
        try:
            said = dict(
                line.split() for line in (process.stdout.readline(), process.stdout.readline()) if line
            )
            if set(said) != {"api", "ingest"}:
                raise StartupError(f"The service did not start: {log.read_text().strip()}")
            yield Running(said["api"], said["ingest"])
        finally:
            process.terminate()
            try:
                process.wait(STOP_WITHIN_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
