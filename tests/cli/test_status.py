"""``touchpoint status`` and ``touchpoint doctor``: how a deployment is, read beside its processes."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from hosts import deployment_status
from tests.fixtures.processes import read_output_pairs, running_process, stop_process


class DiskUsage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture(autouse=True)
def half_empty_disk(monkeypatch):
    monkeypatch.setattr(
        deployment_status.shutil, "disk_usage", lambda _: DiskUsage(10**12, 5 * 10**11, 5 * 10**11)
    )


@pytest.fixture
def stopped(deployment):
    """A deployment on addresses that nothing listens on, with an owner."""
    file = Path(deployment["config"])
    file.write_text(file.read_text().replace('# api = "127.0.0.1:8080"', 'api = "127.0.0.1:9"'))
    return deployment


def test_status_of_a_stopped_deployment(touchpoint, stopped):
    status = json.loads(touchpoint("status", "--json", "--config", stopped["config"]).stdout)
    assert (status["api"], status["roles"], status["queued_events"]) == (None, None, 0)
    assert (status["workspaces"], status["failing_settings"], status["connections"]) == (1, {}, [])
    assert 0 < status["disk"]["free_bytes"] < status["disk"]["total_bytes"]
    text = touchpoint("status", "--config", stopped["config"]).stdout
    assert "API          does not answer" in text
    assert "queue        0 events wait" in text
    assert "disk         500.0 GB of 1,000.0 GB free" in text


def test_doctor_names_each_problem_with_its_command(touchpoint, stopped):
    config = "--config", stopped["config"]
    touchpoint("connection", "add", "meta", "--status", "error", "--error", "The token expired", *config)
    result = touchpoint("doctor", *config, code=1).stdout
    for problem, remedy in (
        ("Nothing answers at 127.0.0.1:9.", "touchpoint serve --config"),
        (f"Nobody owns the workspace {stopped['workspace_id']}", "touchpoint member add EMAIL --role owner"),
        ("The connection meta", "touchpoint connection add meta"),
    ):
        assert result.index(problem) < result.index(remedy)
    touchpoint("member", "add", "ann@example.com", "--role", "owner", *config)
    touchpoint("connection", "remove", "meta", *config)
    assert touchpoint("doctor", *config, code=1).stdout.splitlines()[0] == "Nothing answers at 127.0.0.1:9."


def test_doctor_names_a_store_that_cannot_be_used(touchpoint, stopped):
    spool = Path(stopped["config"]).with_name("spool.db")
    for beside in spool.parent.glob("spool.db-*"):
        beside.unlink()
    with closing(sqlite3.connect(spool)) as connection:
        connection.execute("PRAGMA user_version = 99")
    result = touchpoint("doctor", "--config", stopped["config"], code=1).stdout
    assert "ingest.queue cannot be used" in result
    assert "touchpoint config check" in result


def test_doctor_names_an_event_store_that_is_lost_with_its_queue(touchpoint, stopped):
    folder = Path(stopped["config"]).parent
    for file in (*folder.glob("events.*"), *folder.glob("spool.db*")):
        file.unlink()
    result = touchpoint("doctor", "--config", stopped["config"], code=1).stdout
    assert "storage.events cannot be used: The event store of storage.events is missing" in result
    assert "touchpoint config accept-lost-events" in result
    assert not [*folder.glob("events.*")]


@pytest.mark.timeout(200)
def test_status_and_doctor_of_a_running_deployment(touchpoint, deployment):
    file = Path(deployment["config"])
    touchpoint("member", "add", "ann@example.com", "--role", "owner", "--config", file)
    words = [
        sys.executable,
        "-m",
        "hosts.cli",
        "serve",
        "--config",
        str(file),
        "--api",
        "127.0.0.1:0",
        "--ingest",
        "127.0.0.1:0",
    ]
    with running_process(words, stdout=subprocess.PIPE) as process:
        addresses = read_output_pairs(process, 2)
        variables = {"TOUCHPOINT_HTTP__API": addresses["api"].removeprefix("http://")}
        status = json.loads(touchpoint("status", "--json", "--config", file, **variables).stdout)
        assert (status["api"]["status"], status["queued_events"]) == ("ok", 0)
        assert touchpoint("doctor", "--config", file, **variables).stdout == "Nothing is wrong.\n"
        assert stop_process(process) == 0


def test_doctor_names_a_full_disk(touchpoint, stopped, monkeypatch):
    monkeypatch.setattr(
        deployment_status.shutil, "disk_usage", lambda _: DiskUsage(10**12, 10**12 - 10**9, 10**9)
    )
    assert "has 1.0 GB left" in touchpoint("doctor", "--config", stopped["config"], code=1).stdout
