"""Plugins from outside, installed with pip into a folder of their own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONTRIB = Path(__file__).parents[2] / "contrib"


@pytest.fixture(scope="session")
def install(tmp_path_factory):
    """Install a folder of ``contrib``; gives the folder to put on the path."""

    def install(name):
        folder = tmp_path_factory.mktemp(name)
        source, target = folder / "source", folder / "site"
        shutil.copytree(CONTRIB / name, source)
        command = [
            sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
            "--disable-pip-version-check", "--target", target, source,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, text=True)
        return target

    return install
