"""Measures events per second and CPU per event of one and of two ingest hosts on one Redis.

Usage: ``python -m tests.bench.ingest_redis [--rounds 3] [--seconds 4] [--server uvicorn]``

Two processes are useful when an event costs as little CPU in each as in one: with a core for each, the rate grows
by the ratio that is printed last.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.ingest.ingest_process import IngestProcess
from service_core.access.api_keys import create_workspace_with_keys
from service_core.kernel.clock import system_clock
from service_core.testing.redis_server import RedisServer, find_server_binary
from tests.bench.ingest import BENCH_FOLDER, CONNECTIONS, WORKSPACES, cpu_by_process


async def create_deployment(folder: Path, url: str) -> tuple[Path, list[str]]:
    """Creates a deployment on a server and returns its settings file and write keys."""
    config = folder / "touchpoint.toml"
    config.write_text(f'[ingest]\nqueue = "{url}/0"\n')
    ports = Ports(
        load_settings_with_environment(config), folder, load_installed_registry_once(), system_clock
    )
    async with start_adapters([ports.workspace]):
        made = [
            await create_workspace_with_keys(
                ports.workspace.credentials, datetime.now(UTC), name=f"W{number}"
            )
            for number in range(WORKSPACES)
        ]
    return config, [each.write_key.secret for each in made]


async def measure_hosts(hosts: list[IngestProcess], redis_pid: int, seconds: float, keys: list[str]) -> dict:
    """Runs one round with the same load on every host."""
    pids = [host.process.pid for host in hosts]
    before = [sum(cpu_by_process(pid).values()) for pid in [*pids, redis_pid]]
    loads = [
        await asyncio.create_subprocess_exec(
            sys.executable, str(BENCH_FOLDER / "ingest_load.py"), host.address, str(seconds),
            str(CONNECTIONS), ",".join(keys), stdout=asyncio.subprocess.PIPE,
        )
        for host in hosts
    ]  # fmt: skip
    results = [json.loads((await load.communicate())[0]) for load in loads]
    used = [
        sum(cpu_by_process(pid).values()) - start
        for pid, start in zip([*pids, redis_pid], before, strict=True)
    ]
    events = sum(result["events"] for result in results)
    return {
        "per_second": sum(result["per_second"] for result in results),
        "host_ms": 1000 * sum(used[:-1]) / events,
        "redis_ms": 1000 * used[-1] / events,
        "p99_ms": max(result["p99_ms"] for result in results),
        "refused": [result["refused"] for result in results],
    }


async def run_rounds(rounds: int, seconds: float, server: str) -> dict[int, list[dict]]:
    kept: dict[int, list[dict]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        redis = RedisServer(find_server_binary() or sys.exit("no Redis server is installed"), folder)
        redis.start()
        config, keys = await create_deployment(folder, redis.url)
        try:
            for _ in range(rounds):
                for number, results in kept.items():
                    async with AsyncExitStack() as stack:
                        hosts = []
                        for _each in range(number):
                            host = await IngestProcess.start_and_wait_until_listening(
                                config, listen="127.0.0.1:0", server=server
                            )
                            stack.push_async_callback(host.terminate_or_kill_after_timeout)
                            hosts.append(host)
                        results.append(await measure_hosts(hosts, redis._process.pid, seconds, keys))
                    redis.first_line_of_reply("FLUSHALL")
        finally:
            redis.kill()
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--server", default="uvicorn")
    given = parser.parse_args()
    kept = asyncio.run(run_rounds(given.rounds, given.seconds, given.server))
    names = ("per_second", "host_ms", "redis_ms", "p99_ms")
    middle = {n: {name: statistics.median(r[name] for r in rs) for name in names} for n, rs in kept.items()}
    sys.stdout.write("hosts  events/s  host CPU-ms  Redis CPU-ms  p99 ms  refused\n")
    for number, row in middle.items():
        sys.stdout.write(
            f"{number:5}  {row['per_second']:8.0f}  {row['host_ms']:11.3f}  {row['redis_ms']:12.3f}"
            f"  {row['p99_ms']:6.1f}  {kept[number][-1]['refused']}\n"
        )
    sys.stdout.write(f"worth of the second host: {2 * middle[1]['host_ms'] / middle[2]['host_ms']:.2f}\n")


if __name__ == "__main__":
    main()
