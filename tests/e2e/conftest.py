"""One running service, as a deployer starts it, with real traffic in it."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from hosts.demo.running import Running, running_service

ROOT = Path(__file__).parents[2]
LOG = ROOT / "hosts" / "demo" / "access_log.gz"


def touchpoint(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "hosts.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def until(condition, seconds: float = 10.0):
    """Ask again and again until the condition holds; its value, or a failure at the deadline."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "the condition did not come true in time"
    return value


@dataclass
class Deployment:
    config: Path
    write_key: str
    agent_key: str
    running: Running | None = None

    def get(self, path: str, key: str | None = None, **parameters) -> tuple[int, dict]:
        query = urllib.parse.urlencode(parameters)
        request = urllib.request.Request(f"{self.running.api}{path}?{query}")
        request.add_header("Authorization", f"Bearer {key or self.agent_key}")
        return _answer(request)

    def track(self, **body) -> tuple[int, dict]:
        request = urllib.request.Request(f"{self.running.ingest}/track", json.dumps(body).encode())
        request.add_header("X-API-Key", self.write_key)
        return _answer(request)


def _answer(request: urllib.request.Request) -> tuple[int, dict]:
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


@pytest.fixture(scope="session")
def founded(tmp_path_factory) -> Deployment:
    folder = tmp_path_factory.mktemp("deployment")
    said = json.loads(touchpoint("init", str(folder), "--json", "--domain", "semicomplete.com"))
    return Deployment(Path(said["config"]), said["write_key"], said["agent_key"])


@pytest.fixture(scope="session")
def deployment(founded):
    """The service, running, with the access log imported and moved into the present."""
    with running_service(founded.config, "127.0.0.1:0", "127.0.0.1:0") as running:
        founded.running = running
        touchpoint("import", "access-log", str(LOG), "--shift-to-now", "--config", str(founded.config))
        yield founded
