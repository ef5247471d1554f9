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
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from service_core.access.api_keys import create_workspace_with_keys
from service_core.delivery.exports.models import MAX_ACTIVE
from service_core.kernel.clock import system_clock
from service_core.testing.event_builder import EventBuilder
from service_core.testing.reserved_port import reserve_loopback_port
from tests.fault_injection.conftest import FULL
from tests.fixtures.processes import read_output_pairs, running_process
from tests.fixtures.waiting import wait_until_true

EVENTS = 30_000 if FULL else 15_000
FINAL = {"completed", "failed"}


@dataclass
class ExportDeployment:
    """A deployment with events of the last month in its embedded stores."""

    folder: Path
    key: str
    ordered: list[str] = field(default_factory=list)
    process: subprocess.Popen | None = None

    def __post_init__(self):
        self.api = f"http://127.0.0.1:{reserve_loopback_port(self)}"

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
        addresses = ["--api", self.api.removeprefix("http://"), "--ingest", "127.0.0.1:0"]
        with (
            (self.folder / "serve.log").open("ab") as log,
            running_process(command + addresses, stdout=subprocess.PIPE, stderr=log) as self.process,
        ):
            assert read_output_pairs(self.process, 2)["api"] == self.api
            yield

    def ask(self, method, target, body=None):
        url = target if target.startswith("http") else f"{self.api}/v1{target}"
        request = urllib.request.Request(url, body and json.dumps(body).encode(), method=method)
        request.add_header("Authorization", f"Bearer {self.key}")
        with urllib.request.urlopen(request, timeout=100) as answer:
            return answer.read()

    def order(self):
        now = datetime.now(UTC)
        days = {"start_date": str((now - timedelta(days=40)).date()), "end_date": str(now.date())}
        self.ordered.append(json.loads(self.ask("POST", "/exports", {"type": "events", **days}))["id"])
        return self.ordered[-1]

    def begun(self):
        """An export whose file was begun and was not whole; one that was faster than this look is left alone."""
        while True:
            export_id = self.order()
            suffixes = wait_until_true(partial(self.suffixes, export_id))
            if ".part" in suffixes:
                return export_id

    def poll(self, export_id):
        return json.loads(self.ask("GET", f"/exports/{export_id}"))

    def final(self, export_id, seconds=120):
        """The job once it has ended."""

        def ended():
            job = self.poll(export_id)
            return job if job["status"] in FINAL else None

        return wait_until_true(ended, seconds, pause=1)  # a key has 100 requests a minute

    def files(self):
        return sorted((self.folder / "exports").iterdir())

    def suffixes(self, export_id):
        return [path.suffix for path in self.files() if path.name.startswith(export_id)]

    def drafts(self):
        return [path for path in self.files() if path.suffix == ".part"]

    async def free(self):
        """Ids of the jobs whoever is there may take now."""
        ports = Ports(
            load_settings_with_environment(self.folder / "touchpoint.toml"),
            self.folder,
            load_installed_registry_once(),
            system_clock,
        )
        async with start_adapters([ports.workspace]):
            return [
                str(job.id)
                for job in await ports.workspace.export_jobs.list_available_exports(
                    datetime.now(UTC), MAX_ACTIVE
                )
            ]


@pytest.fixture
async def export_deployment(tmp_path):
    config = tmp_path / "touchpoint.toml"
    config.write_text("")
    ports = Ports(
        load_settings_with_environment(config), tmp_path, load_installed_registry_once(), system_clock
    )
    async with start_adapters([ports.workspace, ports.events]):
        initialized_deployment = await create_workspace_with_keys(
            ports.workspace.credentials, datetime.now(UTC), name="Shop"
        )
        story, start = (
            EventBuilder(initialized_deployment.workspace.id),
            datetime.now(UTC) - timedelta(days=30),
        )
        for number in range(EVENTS):
            story.add_event(
                "page_view",
                at=start + timedelta(seconds=80 * number),
                visitor=f"A{number % 999}",
                page_title="x" * 200,
                event_data={"n": number},
            )
        for first in range(0, EVENTS, 10_000):
            await ports.events.append(story.events[first : first + 10_000])
    return ExportDeployment(tmp_path, initialized_deployment.agent_key.secret)


def export_lines(content):
    return sum(1 for _ in csv.reader(content.decode().splitlines())) - 1


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_export_of_a_killed_worker_finishes_without_partial_files(export_deployment, is_full_run):
    """Each kill hits a job of its own; those before it are done meanwhile, as their leases end."""
    for kill in range(20 if is_full_run else 1):
        with export_deployment.serving():
            for earlier in export_deployment.ordered[
                -MAX_ACTIVE : 1 - MAX_ACTIVE
            ]:  # more at a time are refused
                export_deployment.final(earlier)
            export_deployment.begun()
            time.sleep(0.005 * kill)  # a little later each time: while it is read, formatted or written
            export_deployment.process.kill()
            export_deployment.process.wait()
    with export_deployment.serving():
        jobs = [export_deployment.final(export_id) for export_id in export_deployment.ordered]
        assert all(job["status"] == "completed" for job in jobs), [job["error"] for job in jobs]
        assert all(job["row_count"] == EVENTS for job in jobs)
        for job in jobs:
            assert export_lines(export_deployment.ask("GET", job["download"]["url"])) == EVENTS
        wait_until_true(lambda: len(export_deployment.files()) == len(jobs))
        assert {path.name[:36] for path in export_deployment.files()} == {job["id"] for job in jobs}
        assert export_deployment.drafts() == []


@pytest.mark.faults
def test_full_disk_fails_the_export_keeps_reads_and_recovers(export_deployment):
    with export_deployment.serving():
        limit = resource.RLIMIT_FSIZE
        before = resource.prlimit(
            export_deployment.process.pid, limit, (250 * EVENTS, resource.RLIM_INFINITY)
        )
        refused = export_deployment.final(export_deployment.order())
        assert (refused["status"], refused["error"]) == ("failed", "internal error")
        assert export_deployment.files() == []
        day = (datetime.now(UTC) - timedelta(days=20)).date()
        assert json.loads(export_deployment.ask("GET", f"/events?start_date={day}&end_date={day}&limit=1"))[
            "events"
        ]
        resource.prlimit(export_deployment.process.pid, limit, before)
        job = export_deployment.final(export_deployment.order())
        assert (
            job["row_count"] == export_lines(export_deployment.ask("GET", job["download"]["url"])) == EVENTS
        )


@pytest.mark.faults
async def test_stopping_releases_the_export_for_the_next_start(export_deployment):
    while not (free := await export_deployment.free()):  # an export may be done before the stop is heard
        with export_deployment.serving():
            export_deployment.begun()
        assert export_deployment.drafts() == []
    assert free == export_deployment.ordered[-1:]
    assert export_deployment.suffixes(free[0]) == []
    with export_deployment.serving():
        assert export_deployment.final(free[0])["row_count"] == EVENTS
