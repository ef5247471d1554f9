"""One running service, as a deployer starts it, with real traffic in it."""

import asyncio
import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hosts.composition.compose import load_ports
from hosts.composition.ports import start_adapters
from hosts.demo.demo_service import RunningService, serve_in_subprocess
from service_core.access.api_keys import create_named_key_clamping_rate_limit_to_plan

ROOT = Path(__file__).parents[2]
LOG = ROOT / "hosts" / "demo" / "access_log.gz"
GUARD_SECONDS = 200
"""Against hanging."""
INTERNAL_TOKEN = "for-programs-of-this-deployment"
PLENTY = 1_000_000


def run_touchpoint(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hosts.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=GUARD_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_until(condition, seconds: float = GUARD_SECONDS):
    """Ask again and again until the condition holds; its value, or a failure at the deadline."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.02)
    return value


@dataclass
class Deployment:
    """A deployment and its keys; one may ask as often as a test looks, whatever the speed of its machine."""

    config: Path
    write_key: str
    agent_key: str
    reader: str
    running: RunningService | None = None

    def get(self, path: str, key: str | None = None, **parameters) -> tuple[int, dict]:
        query = urllib.parse.urlencode(parameters)
        request = urllib.request.Request(f"{self.running.api}{path}?{query}")
        request.add_header("Authorization", f"Bearer {key or self.reader}")
        return _answer(request)

    def track(self, **body) -> tuple[int, dict]:
        request = urllib.request.Request(f"{self.running.ingest}/track", json.dumps(body).encode())
        request.add_header("X-API-Key", self.write_key)
        return _answer(request)


def _answer(request: urllib.request.Request) -> tuple[int, dict]:
    try:
        with urllib.request.urlopen(request, timeout=GUARD_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def initialize_deployment(folder: Path, *options: str) -> Deployment:
    """What `touchpoint init` makes in a folder."""
    result = json.loads(run_touchpoint("init", str(folder), "--json", *options))
    config = Path(result["config"])
    return Deployment(
        config, result["write_key"], result["agent_key"], asyncio.run(_create_reading_key(config))
    )


async def _create_reading_key(config: Path) -> str:
    ports = load_ports(config)
    async with start_adapters([ports.workspace]):
        (workspace,) = await ports.workspace.credentials.list_workspaces()
        minted = await create_named_key_clamping_rate_limit_to_plan(
            ports.workspace.credentials,
            workspace,
            datetime.now(UTC),
            name="Reader",
            requested_rate_limit=PLENTY,
        )
    return minted.secret


@pytest.fixture(scope="session")
def initialized_deployment(tmp_path_factory) -> Deployment:
    deployment = initialize_deployment(tmp_path_factory.mktemp("deployment"), "--domain", "semicomplete.com")
    settings = deployment.config.read_text()
    deployment.config.write_text(
        settings.replace("# internal_token =", f'internal_token = "{INTERNAL_TOKEN}" #')
    )
    return deployment


@pytest.fixture(scope="session")
def deployment(initialized_deployment):
    """The service, running, with the access log imported and moved into the present."""
    with serve_in_subprocess(initialized_deployment.config, "127.0.0.1:0", "127.0.0.1:0") as running:
        initialized_deployment.running = running
        run_touchpoint(
            "import", "access-log", str(LOG), "--shift-to-now", "--config", str(initialized_deployment.config)
        )
        yield initialized_deployment
