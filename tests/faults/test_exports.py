"""F5, F9: the process that writes exports is killed, or its disk is full; every job ends and no file is half."""

import csv
import json
import resource
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hosts.composition.compose import installed
from hosts.composition.load import load_settings
from hosts.composition.ports import Ports, running
from service_core.access.keys import found_workspace
from service_core.delivery.exports.model import LEASE, MOST_ACTIVE
from service_core.kernel.clock import system_clock
from service_core.testing.story import Story
from tests.faults.conftest import FULL
from tests.processes import child, said

EVENTS = 30_000 if FULL else 15_000
FINAL = {"completed", "failed"}


def until(condition, seconds=30.0, pause=0.005):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(pause)
    return value


@dataclass
class Shop:
    """A deployment with events of the last month in its embedded stores."""

    folder: Path
    key: str
    api: str = ""
    process: subprocess.Popen | None = None

    @contextmanager
    def serving(self):
        """The service as a process of its own; ``kill`` may end it earlier."""
        command = [
            sys.executable,
            "-m",
            "hosts.cli",
            "serve",
            "--config",
            str(self.folder / "touchpoint.toml"),
        ]
        addresses = ["--api", self.api.removeprefix("http://") or "127.0.0.1:0", "--ingest", "127.0.0.1:0"]
        with (
            (self.folder / "serve.log").open("ab") as log,
            child(command + addresses, stdout=subprocess.PIPE, stderr=log) as self.process,
        ):
            self.api = said(self.process, 2)["api"]
            yield

    def ask(self, method, target, body=None):
        url = target if target.startswith("http") else f"{self.api}/v1{target}"
        request = urllib.request.Request(url, body and json.dumps(body).encode(), method=method)
        request.add_header("Authorization", f"Bearer {self.key}")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def order(self):
        now = datetime.now(UTC)
        days = {"start_date": str((now - timedelta(days=40)).date()), "end_date": str(now.date())}
        return json.loads(self.ask("POST", "/exports", {"type": "events", **days}))["id"]

    def poll(self, export_id):
        return json.loads(self.ask("GET", f"/exports/{export_id}"))

    def final(self, export_id, seconds=120):
        """The job once it has ended."""

        def ended():
            job = self.poll(export_id)
            return job if job["status"] in FINAL else None

        return until(ended, seconds, pause=1)  # a key has 100 requests a minute

    def files(self):
        return sorted((self.folder / "exports").iterdir())

    def is_writing(self, export_id=""):
        return any(path.stat().st_size for path in (self.folder / "exports").glob(f"{export_id}*.part"))


@pytest.fixture
async def shop(tmp_path):
    config = tmp_path / "touchpoint.toml"
    config.write_text("")
    ports = Ports(load_settings(config), tmp_path, installed(), system_clock)
    async with running([ports.workspace, ports.events]):
        founded = await found_workspace(ports.workspace, datetime.now(UTC), name="Shop")
        story, start = Story(founded.workspace.id), datetime.now(UTC) - timedelta(days=30)
        for number in range(EVENTS):
            story.happens(
                "page_view",
                at=start + timedelta(seconds=80 * number),
                visitor=f"A{number % 999}",
                page_title="x" * 200,
                event_data={"n": number},
            )
        for first in range(0, EVENTS, 10_000):
            await ports.events.append(story.events[first : first + 10_000])
    return Shop(tmp_path, founded.agent_key.secret)


def rows_of(content):
    return sum(1 for _ in csv.reader(content.decode().splitlines())) - 1


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_a_killed_worker_leaves_a_job_that_ends_and_no_part_of_a_file(shop, full):
    """Each kill hits a job of its own; those before it are done meanwhile, as their leases end."""
    ordered = []
    for _ in range(20 if full else 1):
        with shop.serving():
            for earlier in ordered[-MOST_ACTIVE : 1 - MOST_ACTIVE]:  # more at a time are refused
                shop.final(earlier)
            ordered.append(shop.order())
            until(lambda: shop.is_writing(ordered[-1]))
            shop.process.kill()
            shop.process.wait()
    with shop.serving():
        jobs = [shop.final(export_id) for export_id in ordered]
        assert all(job["status"] == "completed" for job in jobs), [job["error"] for job in jobs]
        assert all(job["row_count"] == EVENTS for job in jobs)
        for job in jobs:
            assert rows_of(shop.ask("GET", job["download"]["url"])) == EVENTS
        until(lambda: len(shop.files()) == len(jobs))
        assert {path.name[:36] for path in shop.files()} == {job["id"] for job in jobs}
        assert not shop.is_writing()


@pytest.mark.faults
def test_a_full_disk_fails_the_export_keeps_reads_and_heals_alone(shop):
    with shop.serving():
        limit = resource.RLIMIT_FSIZE
        before = resource.prlimit(shop.process.pid, limit, (250 * EVENTS, resource.RLIM_INFINITY))
        refused = shop.final(shop.order())
        assert (refused["status"], refused["error"]) == ("failed", "internal error")
        assert shop.files() == []
        day = (datetime.now(UTC) - timedelta(days=20)).date()
        assert json.loads(shop.ask("GET", f"/events?start_date={day}&end_date={day}&limit=1"))["events"]
        resource.prlimit(shop.process.pid, limit, before)
        job = shop.final(shop.order())
        assert job["row_count"] == rows_of(shop.ask("GET", job["download"]["url"])) == EVENTS


@pytest.mark.faults
def test_a_stop_gives_the_job_back_and_the_next_start_takes_it_at_once(shop):
    with shop.serving():
        export_id = shop.order()
        until(shop.is_writing)
    assert shop.files() == []
    with shop.serving():
        started = time.monotonic()
        assert shop.final(export_id)["row_count"] == EVENTS
        assert time.monotonic() - started < LEASE.total_seconds()
