"""The product of an earlier commit, whose processes run beside those of the checked-out one."""

import os
import subprocess
import sys
import tarfile
import tomllib
from io import BytesIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

EARLIER_COMMIT = "65d31f833830890d98cc240c079f256856655083"
"""The earlier version. A release replaces it by the commit of the release before; a change that its ingest processes cannot
run beside says so in the changelog, and replaces it, too."""

_PACKAGES = ("hosts", "plugins", "service_core", "contrib", "pyproject.toml")


def extract_earlier_tree(folder):
    """Writes the earlier commit into a folder; returns the environment in which Python runs it instead of this one.

    The test is skipped in a checkout without history; `earlier_version.EarlierIngest` stands in for the version there.
    """
    packed = subprocess.run(
        ["git", "archive", EARLIER_COMMIT, *_PACKAGES], cwd=ROOT, capture_output=True, check=False
    )
    if packed.returncode:
        pytest.skip("the history of this checkout does not reach the earlier version")
    with tarfile.open(fileobj=BytesIO(packed.stdout)) as tree:
        tree.extractall(folder, filter="data")
    _declare_entry_points(folder)
    environment = {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
    found = subprocess.run(
        [
            sys.executable,
            "-c",
            "import hosts, plugins.ingest_spool as spool; print(hosts.__file__, spool.__file__)",
        ],
        env={**os.environ, **environment},
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=True,
    )
    assert all(path.startswith(str(folder)) for path in found.stdout.split()), found.stdout
    return environment


def _declare_entry_points(folder):
    """Declares the plugins of the earlier version, which hide those of the installed one."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    info = folder / "touchpoint_analytics-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n")
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project.get("entry-points", {}).items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
