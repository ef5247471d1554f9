"""Measures requests per second of the durable ingest host, next to the same server answering at once.

Usage: ``python -m tests.bench.ingest [--rounds 3] [--seconds 4] [--server NAME ...] [--write]``. Refuses to print when the
queue file does not hold every event that was acknowledged. With ``--write`` the table goes into `docs/figures.md`.
"""

import argparse
import asyncio
import json
import os
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.ingest.ingest_process import IngestProcess
from service_core.access.api_keys import create_workspace_with_keys
from service_core.kernel.clock import system_clock
from tests.bench.figures import markdown_table, write_figures

BENCH_FOLDER = Path(__file__).parent
CONNECTIONS = 64
WORKSPACES = 24
"""Each has its own key, because one key may send 1000 requests a second."""


async def create_deployment(folder: Path) -> tuple[Path, list[str]]:
    """Creates a deployment in a folder and returns its settings file and write keys."""
    config = folder / "touchpoint.toml"
    config.write_text("")
    ports = Ports(
        load_settings_with_environment(config), folder, load_installed_registry_once(), system_clock
    )
    keys = []
    async with start_adapters([ports.workspace]):
        for number in range(WORKSPACES):
            made = await create_workspace_with_keys(
                ports.workspace.credentials, datetime.now(UTC), name=f"W{number}"
            )
            keys.append(made.write_key.secret)
    return config, keys


class BaselineServer:
    """The baseline application in a process."""

    def __init__(self, process, address: str) -> None:
        self.process = process
        self.address = address

    @classmethod
    async def start(cls, server: str) -> "BaselineServer":
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(BENCH_FOLDER / "ingest_baseline.py"), server, stdout=asyncio.subprocess.PIPE
        )
        return cls(process, (await process.stdout.readline()).decode().split()[1])

    async def stop(self) -> None:
        self.process.terminate()
        await self.process.wait()


async def measure_load(address: str, pid: int, seconds: float, keys: list[str]) -> dict:
    """Runs one round of load; adds the CPU milliseconds per event of the event loop and of all other threads."""
    before = cpu_by_process(pid)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(BENCH_FOLDER / "ingest_load.py"), address, str(seconds), str(CONNECTIONS), ",".join(keys),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    result = json.loads(out)
    used = {thread: after - before.get(thread, 0) for thread, after in cpu_by_process(pid).items()}
    result["accept_ms"] = 1000 * used.pop(pid) / result["events"]
    result["commit_ms"] = 1000 * sum(used.values()) / result["events"]
    return result


def cpu_by_process(pid: int) -> dict[int, float]:
    """Returns the CPU seconds of each thread of a process; the event loop's thread has the process id."""
    seconds = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        seconds[int(task.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


async def compare_servers(server: str, rounds: int, seconds: float, *, kept: dict) -> None:
    with tempfile.TemporaryDirectory(dir=".") as folder:
        config, keys = await create_deployment(Path(folder))
        plain = await BaselineServer.start(server)
        ingest = await IngestProcess.start_and_wait_until_listening(
            config, listen="127.0.0.1:0", server=server
        )
        try:
            for _ in range(rounds):
                kept[server, "plain"].append(
                    await measure_load(plain.address, plain.process.pid, seconds, keys)
                )
                kept[server, "durable"].append(
                    await measure_load(ingest.address, ingest.process.pid, seconds, keys)
                )
        finally:
            await plain.stop()
            await ingest.terminate_or_kill_after_timeout()
        require_acknowledged_in_queue(Path(folder) / "spool.db", kept[server, "durable"])


def require_acknowledged_in_queue(spool: Path, rounds: list[dict]) -> None:
    """Requires that a queue file holds every acknowledged event and its claim, once.

    Raises:
        AssertionError: SQL on the file counts otherwise, or nothing was acknowledged.
    """
    acknowledged = sum(found["events"] - sum(found["refused"].values()) for found in rounds)
    with closing(sqlite3.connect(spool)) as connection:
        query = "SELECT (SELECT sum(waiting) FROM batch), (SELECT count(*) FROM claim)"
        found = connection.execute(query).fetchone()
    assert acknowledged > 0, "nothing was acknowledged"
    assert found == (acknowledged, acknowledged), f"{acknowledged} acknowledged, {found} in the queue"


HEAD = (
    "server",
    "plain",
    "durable",
    "ratio",
    "p50",
    "p99",
    "longest",
    "CPU per event, loop + commit",
    "refused",
)


def render_rows(kept: dict) -> list[tuple[str, ...]]:
    """Returns a row for each server: the medians of all rounds."""
    rows = []
    for server in dict.fromkeys(name for name, _ in kept):
        plain, durable = kept[server, "plain"], kept[server, "durable"]

        def middle(name: str, rounds: list = durable) -> float:
            return statistics.median(r[name] for r in rounds)

        ratio = statistics.median(
            d["per_second"] / p["per_second"] for p, d in zip(plain, durable, strict=True)
        )
        rows.append(
            (
                server,
                f"{middle('per_second', plain):,.0f}/s",
                f"{middle('per_second'):,.0f}/s",
                f"{ratio:.0%}",
                *(f"{middle(name):.1f} ms" for name in ("p50_ms", "p99_ms", "max_ms")),
                f"{middle('accept_ms'):.3f} + {middle('commit_ms'):.3f} ms",
                str(sum(sum(found["refused"].values()) for found in durable)),
            )
        )
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--server", nargs="*", default=["hypercorn", "uvicorn", "granian"])
    parser.add_argument("--write", action="store_true", help="write the table into docs/figures.md")
    given = parser.parse_args()
    table = markdown_table(HEAD, measure_servers(given.server, given.rounds, given.seconds))
    sys.stdout.write(table + "\n")
    if given.write:
        write_figures("ingest", table)


def measure_servers(servers: Sequence[str], rounds: int, seconds: float) -> list[tuple[str, ...]]:
    """Returns the rows of the table for some servers, measured one after the other."""
    kept: dict = {(server, kind): [] for server in servers for kind in ("plain", "durable")}
    for server in servers:
        asyncio.run(compare_servers(server, rounds, seconds, kept=kept))
    return render_rows(kept)


if __name__ == "__main__":
    main()
