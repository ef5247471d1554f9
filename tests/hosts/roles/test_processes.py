"""Roles as real processes: they say that they are ready, share a socket, come back and drain."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from hosts.asgi_runner import bind_listeners_with_reuse_port, listener_address
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import load_settings_with_environment
from hosts.composition.ports import Ports, start_adapters
from hosts.consumer_lock import try_consumer_lock
from hosts.roles.models import Role
from hosts.roles.supervise import build_process_specs
from hosts.subprocesses import restart_with_backoff_until_stopped
from service_core.access.api_keys import create_workspace_with_keys
from service_core.kernel.clock import system_clock
from service_core.kernel.errors import StartupError
from tests.fixtures.waiting import GUARD_SECONDS


@pytest.fixture
async def config(tmp_path):
    """Settings over a store that starts at once; each role is looked at by itself."""
    file = tmp_path / "touchpoint.toml"
    file.write_text('[storage]\nevents = "memory://"\n')
    ports = Ports(
        load_settings_with_environment(file), tmp_path, load_installed_registry_once(), system_clock
    )
    async with start_adapters([ports.workspace, ports.queue]):
        await create_workspace_with_keys(ports.workspace.credentials, datetime.now(UTC), name="Shop")
    return file


def fetch(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=GUARD_SECONDS) as answer:
        return json.load(answer)


@pytest.mark.parametrize("role", [Role.API, Role.INGEST, Role.CONSUMER])
async def test_role_prints_ready_and_drains_on_stop(role, config):
    sockets = (
        {role: bind_listeners_with_reuse_port("127.0.0.1:0", 1)} if role in {Role.API, Role.INGEST} else {}
    )
    (post,) = build_process_specs(config, {role: 1}, sockets, None)
    child = await post.start_and_wait_until_ready()
    assert child.address == (listener_address(sockets[role][0]) if sockets else "-")
    if role is Role.API:
        assert (await asyncio.to_thread(fetch, child.address, "/health"))["status"] == "ok"
    assert await child.terminate_or_kill_after_timeout() == 0
    for listener in sockets.get(role, []):
        listener.close()


async def test_role_ends_with_the_process_that_started_it(config):
    (post,) = build_process_specs(config, {Role.SCHEDULER: 1}, {}, None)
    child = await post.start_and_wait_until_ready()
    child.process.stdin.close()
    async with asyncio.timeout(GUARD_SECONDS):
        assert await child.wait_for_exit_code_and_output() == 0


async def test_failed_start_of_a_role_prints_its_reason(config, capfd):
    config.write_text('[storage]\nevents = "oracle://db"\n')
    (post,) = build_process_specs(config, {Role.SCHEDULER: 1}, {}, None)
    with pytest.raises(StartupError, match="The role scheduler did not start"):
        await post.start_and_wait_until_ready()
    assert "No adapter for 'events' serves oracle://" in capfd.readouterr().err


async def test_connections_wait_while_a_killed_process_restarts(config):
    sockets = {Role.INGEST: bind_listeners_with_reuse_port("127.0.0.1:0", 1)}
    stop, gone = asyncio.Event(), []
    (post,) = build_process_specs(config, {Role.INGEST: 1}, sockets, None)
    child = await post.start_and_wait_until_ready()
    keeping = asyncio.create_task(
        restart_with_backoff_until_stopped(child, post.start_and_wait_until_ready, stop, gone.append)
    )
    child.process.kill()
    async with asyncio.timeout(GUARD_SECONDS):
        while not gone:
            await asyncio.sleep(0.01)
    reader, writer = await asyncio.open_connection(*child.address.split(":"))
    writer.write(b"GET /track HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    async with asyncio.timeout(GUARD_SECONDS):
        assert (await reader.readline()).startswith(b"HTTP/1.1 405")
    writer.close()
    stop.set()
    await keeping
    assert gone == [child]
    sockets[Role.INGEST][0].close()


def test_processes_share_one_reserved_listening_address():
    both = bind_listeners_with_reuse_port("127.0.0.1:0", 2)
    assert len({listener_address(each) for each in both}) == 1
    with pytest.raises(StartupError, match="Cannot listen"):
        bind_listeners_with_reuse_port(listener_address(both[0]), 2)
    for listener in both:
        listener.close()


@contextmanager
def start_role(config, *options, command="serve"):
    command = [sys.executable, "-m", "hosts.cli", command, "--config", str(config), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_ingest_runs_apart_beside_the_embedded_stores(config):
    config.write_text("")
    with start_role(config, "--role", "ingest", "--ingest", "127.0.0.1:0") as process:
        assert process.stdout.readline().startswith("ingest http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(GUARD_SECONDS) == 0


def test_second_process_of_the_same_folder_does_not_consume(config):
    config.write_text("")
    with try_consumer_lock(config.parent) as alone, start_role(config) as process:
        assert alone
        assert process.wait(GUARD_SECONDS) == 2
        assert "Another process already serves" in process.stderr.read()


@pytest.mark.parametrize(
    ("command", "options"),
    [("serve", ["--role", "worker", "--workers", "2"]), ("worker", ["--workers", "2"])],
)
def test_unsupported_role_prints_one_sentence_and_exits_with_2(config, command, options):
    config.write_text('[exports]\nqueue = "redis://localhost:1"\n')
    with start_role(config, *options, command=command) as process:
        assert process.wait(GUARD_SECONDS) == 2
        result = process.stderr.read().strip().splitlines()
    assert len(result) == 1
    assert "storage.events names duckdb://, which belongs to one process, and 5 would use it" in result[0]


def test_subprocess_settings_are_passed_by_environment(config):
    sockets = {Role.API: bind_listeners_with_reuse_port("127.0.0.1:0", 1)}
    (post,) = build_process_specs(config, {Role.API: 1}, sockets, "uvicorn")
    assert post.environment == {"TOUCHPOINT_HTTP__API": listener_address(sockets[Role.API][0])}
    assert "uvicorn" in post.options
    assert "TOUCHPOINT_HTTP__API" not in os.environ
    sockets[Role.API][0].close()
