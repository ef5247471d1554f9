"""Processes that do not end by themselves: whoever started them waits for a time, and not for ever."""

import logging
import os
import signal

import pytest

from hosts.asgi_runner import run_on_uvloop
from hosts.subprocesses import Subprocess

pytestmark = pytest.mark.timeout(200, method="thread")  # its loop hears no alarm

DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready -", flush=True)
time.sleep(600)
"""
HEIR = r"""
import subprocess, sys, time
heir = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])  # has this output as well
print(f"ready -\n{heir.pid}", flush=True)  # in one piece: it may be told to end as soon as it is ready
time.sleep(600)
"""


@pytest.fixture
def launch(tmp_path):
    """Launch a program as a module."""

    def launch(program, **options):
        (tmp_path / "child.py").write_text(program)
        return Subprocess.launch_and_wait_until_ready(
            "The child", "child", [], environment={"PYTHONPATH": str(tmp_path)}, **options
        )

    return launch


def test_unresponsive_subprocess_is_killed_and_named(launch, caplog):
    async def stopped():
        return await (await launch(DEAF, stop_timeout=0.2)).terminate_or_kill_after_timeout()

    with caplog.at_level(logging.ERROR, "touchpoint.children"):
        assert run_on_uvloop(stopped()) == -signal.SIGKILL
    assert caplog.messages == ["The child did not end when it was told to, and is killed"]


def test_exit_is_detected_while_another_process_holds_the_output(launch, caplog, capfd):
    async def stopped():
        return await (await launch(HEIR, stop_timeout=20)).terminate_or_kill_after_timeout()

    assert run_on_uvloop(stopped()) == -signal.SIGTERM
    assert caplog.messages == []
    os.kill(int(capfd.readouterr().out), signal.SIGKILL)
