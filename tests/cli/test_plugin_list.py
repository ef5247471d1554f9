"""``touchpoint plugins`` and the commands that work although a plugin is faulty."""

import json
import os
import subprocess
import sys

import pytest

from hosts.composition.compose import _load_registry
from tests.fixtures.plugin_packages import write_plugin_package

FAULTY = "raise RuntimeError('no licence')"


@pytest.fixture
def broken_plugin(tmp_path, monkeypatch):
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(str(write_plugin_package(site, "broken", FAULTY, package="acme-broken")))
    _load_registry.cache_clear()
    yield "broken"
    _load_registry.cache_clear()


def test_plugins_lists_packages_versions_and_what_they_provide(touchpoint):
    (stripe,) = [
        plugin
        for plugin in json.loads(touchpoint("plugins", "--json").stdout)["plugins"]
        if plugin["name"] == "revenue_stripe"
    ]
    assert stripe["package"] == "touchpoint-analytics"
    assert stripe["origin"] == "built_in"
    assert stripe["provides"] == {"revenue_providers": ["stripe"], "import_sources": ["stripe"]}
    assert stripe["version"] in touchpoint("plugins").stdout


def test_commands_of_the_operator_work_with_a_faulty_plugin_and_name_it(
    touchpoint, deployment, broken_plugin, tmp_path
):
    config = "--config", deployment["config"]
    listed = json.loads(touchpoint("plugins", "--json", *config).stdout)
    assert [fault["package"] for fault in listed["faults"]] == ["acme-broken"]
    assert "'broken' (acme-broken 1.0)" in touchpoint("plugins", *config).stderr
    assert "Agent" in touchpoint("key", "list", *config).stdout
    touchpoint("backup", tmp_path / "copy", *config)
    assert (tmp_path / "copy" / "touchpoint.toml").exists()
    checked = touchpoint("config", "check", *config, code=2)
    assert "duckdb:///events.duckdb" in checked.stdout
    assert "'broken' (acme-broken 1.0)" in checked.stderr


def test_serve_refuses_a_faulty_plugin_and_names_its_package(touchpoint, deployment, broken_plugin):
    command = [sys.executable, "-m", "hosts.cli", "serve", "--config", deployment["config"]]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    refused = subprocess.run(
        command, check=False, env=environment, capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 2
    assert "'broken' (acme-broken 1.0)" in refused.stderr
    assert "--without-plugin broken" in refused.stderr


@pytest.mark.parametrize("place", ["before", "after"])
def test_faulty_plugin_is_left_out_on_request(touchpoint, deployment, broken_plugin, place):
    option, command = (
        ["--without-plugin", broken_plugin],
        ["config", "check", "--config", deployment["config"]],
    )
    arguments = [*option, *command] if place == "before" else [*command, *option]
    assert "is valid" in touchpoint(*arguments).stdout
    assert "TOUCHPOINT_WITHOUT_PLUGINS" not in os.environ


def test_disabled_plugin_of_the_settings_is_left_out(touchpoint, deployment, broken_plugin):
    variable = {"TOUCHPOINT_PLUGINS__DISABLED": json.dumps([broken_plugin])}
    assert "is valid" in touchpoint("config", "check", "--config", deployment["config"], **variable).stdout


def test_plugin_settings_may_come_from_the_environment(touchpoint, deployment):
    variable = {"TOUCHPOINT_PLUGINS__SHOP__REGION": "us"}
    refused = touchpoint("config", "check", "--config", deployment["config"], code=2, **variable)
    assert "no plugin shop is installed" in refused.stderr
