"""A restart of the service refuses no event while the service manager holds its sockets."""

import json
import os
import socket
import subprocess
import sys
import threading
import urllib.request

import pytest

from tests.fixtures.processes import read_output_pairs, running_process, stop_process

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def deployment(tmp_path):
    words = [sys.executable, "-m", "hosts.cli", "init", str(tmp_path / "shop"), "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)


class Sender(threading.Thread):
    """Sends events one after the other, each over a connection of its own, until it is told to stop."""

    def __init__(self, address, write_key):
        super().__init__(daemon=True)
        self.address, self.write_key = address, write_key
        self.accepted, self.refused, self.stopping = 0, [], threading.Event()

    def run(self):
        while not self.stopping.is_set():
            body = json.dumps({"event": "page_view", "anonymous_id": "a", "event_id": f"e{self.accepted}"})
            headers = {"X-API-Key": self.write_key, "Content-Type": "application/json"}
            request = urllib.request.Request(f"http://{self.address}/track", body.encode(), headers)
            try:
                with urllib.request.urlopen(request, timeout=100) as answer:
                    assert json.load(answer)["success"]
            except OSError as fault:
                self.refused.append(repr(fault))
            else:
                self.accepted += 1


_FIND_LISTENER = """
import os, sys
from hosts.socket_activation import duplicate_inherited_listener
os.environ.update(LISTEN_PID=sys.argv[1] or str(os.getpid()), LISTEN_FDS=sys.argv[2])
assert duplicate_inherited_listener("127.0.0.1:9") is None
assert "LISTEN_PID" not in os.environ
"""


@pytest.mark.parametrize(("pid", "count"), [("1", "1"), ("", "all"), ("", "")])
def test_sockets_of_another_process_or_without_a_count_are_not_taken(pid, count):
    subprocess.run([sys.executable, "-c", _FIND_LISTENER, pid, count], check=True)


@pytest.mark.parametrize("server", ["hypercorn", "uvicorn"])
def test_no_event_is_refused_while_the_service_restarts(deployment, server):
    with socket.create_server(("127.0.0.1", 0)) as api, socket.create_server(("127.0.0.1", 0)) as ingest:
        addresses = [f"127.0.0.1:{listener.getsockname()[1]}" for listener in (api, ingest)]
        passed = (api.fileno(), ingest.fileno())
        words = [
            sys.executable, "-m", "tests.hosts.inherited_sockets", ",".join(map(str, passed)),
            sys.executable, "-m", "hosts.cli", "serve", "--config", deployment["config"],
            "--api", addresses[0], "--ingest", addresses[1], "--server", server,
        ]  # fmt: skip
        own = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHPOINT_")}
        sender = Sender(addresses[1], deployment["write_key"])
        for run in range(2):
            with running_process(words, stdout=subprocess.PIPE, env=own, pass_fds=passed) as process:
                if run == 0:
                    sender.start()
                assert read_output_pairs(process, 2) == {name: f"http://{address}" for name, address in zip(("api", "ingest"), addresses, strict=True)}  # fmt: skip
                before = sender.accepted
                while sender.accepted < before + 20:
                    assert sender.is_alive()
                    threading.Event().wait(0.05)
                if run == 1:
                    sender.stopping.set()
                    sender.join(60)
                assert stop_process(process) == 0
    assert sender.refused == []
