"""The command line as a person runs it, and deployments made by its own `init`."""

import json
import os

import pytest
from typer.testing import CliRunner

from hosts.cli import app


@pytest.fixture
def touchpoint(monkeypatch):
    for name in [name for name in os.environ if name.startswith("TOUCHPOINT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "160")

    def run(*arguments, code=0, typed=None, **environment):
        given = [str(argument) for argument in arguments]
        result = CliRunner().invoke(app, given, input=typed, env=environment)
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return run


@pytest.fixture
def deployment(touchpoint, tmp_path):
    folder = tmp_path / "shop"
    return json.loads(touchpoint("init", folder, "--name", "Example Shop", "--json").stdout)
