"""The demo as a newcomer runs it: ports in use, and a service that ends by itself."""

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from hosts.demo import demo_service
from hosts.demo.demo_service import last_logged_error, serve_in_subprocess
from service_core.kernel.errors import StartupError
from tests.e2e.conftest import GUARD_SECONDS, run_touchpoint


@pytest.fixture
def config(tmp_path):
    run_touchpoint("init", str(tmp_path / "data"), "--name", "Demo", "--timezone", "UTC", "--currency", "EUR")
    return tmp_path / "data" / "touchpoint.toml"


def test_demo_takes_free_ports_when_its_own_are_in_use(tmp_path):
    taken = []
    for port in (8080, 8081):
        with suppress(OSError):  # in use already, which is the condition of this test
            taken.append(socket.create_server(("127.0.0.1", port)))
    log = tmp_path / "access.log"
    log.write_text('192.0.2.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 1 "-" "Mozilla/5.0"\n')
    try:
        command = [
            sys.executable,
            "-m",
            "hosts.cli",
            "demo",
            str(log),
            "--exit",
            "--dir",
            str(tmp_path / "d"),
        ]
        run = subprocess.run(command, capture_output=True, text=True, timeout=GUARD_SECONDS, check=False)
    finally:
        for listener in taken:
            listener.close()
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Port 8080 is in use" in run.stdout
    assert "Port 8081 is in use" in run.stdout
    assert ":8080" not in run.stdout.split("Touchpoint runs")[1]


@pytest.mark.parametrize(
    "handler", [signal.default_int_handler, signal.SIG_IGN], ids=["foreground", "background job"]
)
def test_demo_ends_with_the_message_of_a_service_that_ended(config, handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(StartupError, match="The service ended: "):
            kill_service_and_wait(config)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def kill_service_and_wait(config):
    with serve_in_subprocess(config, "127.0.0.1:0", "127.0.0.1:0") as service:
        os.kill(service.pid, signal.SIGKILL)
        threading.Event().wait(GUARD_SECONDS)  # as an import that waits for events to be stored


def test_service_that_has_to_be_killed_at_the_end_interrupts_nobody(config, monkeypatch):
    monkeypatch.setattr(demo_service, "STOP_TIMEOUT_SECONDS", 0.5)
    running = set(threading.enumerate())
    with serve_in_subprocess(config, "127.0.0.1:0", "127.0.0.1:0") as service:
        watchers = set(threading.enumerate()) - running
        os.kill(service.pid, signal.SIGSTOP)
    for watcher in watchers:
        watcher.join(GUARD_SECONDS)  # a signal to this process would come before its end
    assert watchers


def test_last_error_is_the_cause_named_by_a_log_record(tmp_path):
    log = tmp_path / "serve.log"
    log.write_text('{"event": "stopped", "exception": "  + Group\\n    | OSError: disk full\\n    +----"}\n')
    assert last_logged_error(log) == "OSError: disk full"
    log.write_text("touchpoint: Cannot listen\n")
    assert last_logged_error(log) == "touchpoint: Cannot listen"
