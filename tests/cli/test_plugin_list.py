"""``touchpoint plugins`` and the commands that work although a plugin is faulty."""

import json
import os
import subprocess
import sys
import tomllib
from http.client import BadStatusLine
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from threading import Thread

import pytest

from hosts.composition.compose import _load_registry
from hosts.monitoring import plugin_totals
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


def test_plugins_lists_the_background_tasks_of_a_deployment_with_their_runs(touchpoint, deployment):
    listed = json.loads(touchpoint("plugins", "--json", "--config", deployment["config"]).stdout)
    tasks = [task for plugin in listed["plugins"] for task in plugin["tasks"]]
    never = {"last_run_at": None, "last_status": None, "last_error": None, "waiting": 0}
    assert tasks == [
        {"hook": "scheduled_jobs", "id": "silence"} | never,
        {"hook": "event_reactions", "id": "email"} | never,
    ]


METRICS = """
# TYPE touchpoint_plugin_call_seconds histogram
touchpoint_plugin_call_seconds_bucket{le="+Inf",method="map_message",plugin="revenue_stripe"} 3.0
touchpoint_plugin_call_seconds_count{method="map_message",plugin="revenue_stripe"} 3.0
touchpoint_plugin_call_seconds_sum{method="map_message",plugin="revenue_stripe"} 0.25
touchpoint_plugin_call_seconds_bucket{le="+Inf",method="verify_signature",plugin="revenue_stripe"} 4.0
touchpoint_plugin_call_seconds_count{method="verify_signature",plugin="revenue_stripe"} 4.0
touchpoint_plugin_call_seconds_sum{method="verify_signature",plugin="revenue_stripe"} 0.5
# TYPE touchpoint_plugin_faults counter
touchpoint_plugin_faults_total{method="map_message",plugin="revenue_stripe"} 2.0
"""


class MetricsHandler(BaseHTTPRequestHandler):
    """Answers with `METRICS`."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(METRICS.encode())

    def log_message(self, *_):
        """Logs nothing."""


@pytest.fixture
def metrics_address():
    with ThreadingHTTPServer(("127.0.0.1", 0), MetricsHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_plugins_shows_calls_and_faults_in_the_running_service(touchpoint, deployment, metrics_address):
    variable = {"TOUCHPOINT_MONITORING__LISTEN": metrics_address}
    config = "--config", deployment["config"]
    listed = json.loads(touchpoint("plugins", "--json", *config, **variable).stdout)["plugins"]
    calls = {plugin["name"]: plugin["calls"] for plugin in listed}
    assert calls["revenue_stripe"] == {"count": 7, "faults": 2, "seconds": 0.75}
    assert calls["events_sql"] is None
    (row,) = [
        line.split()
        for line in touchpoint("plugins", *config, **variable).stdout.splitlines()
        if line.split()[:2] == ["revenue_stripe", "7"]
    ]
    assert row == ["revenue_stripe", "7", "2", "0.8"]


def test_plugins_shows_no_calls_where_no_service_answers(touchpoint, deployment):
    variable = {"TOUCHPOINT_MONITORING__LISTEN": "127.0.0.1:9"}
    listed = touchpoint("plugins", "--json", "--config", deployment["config"], **variable)
    assert {plugin["calls"] for plugin in json.loads(listed.stdout)["plugins"]} == {None}


@pytest.mark.parametrize("answer", [BadStatusLine("SSH-2.0"), b"<html>{", b"\xff"])
def test_answer_that_is_no_metrics_gives_no_calls(monkeypatch, answer):
    def answer_or_fail(*_, **__):
        if isinstance(answer, Exception):
            raise answer
        return BytesIO(answer)

    monkeypatch.setattr(plugin_totals, "urlopen", answer_or_fail)
    assert plugin_totals.read_plugin_totals("127.0.0.1:22") is None


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


def test_plugins_prints_hashes_as_a_setting_without_importing_anything(
    touchpoint, deployment, broken_plugin, tmp_path
):
    (tmp_path / "plugins").mkdir()
    for name in ("shop", "shop.eu"):
        (tmp_path / "plugins" / f"{name}.py").write_text(FAULTY)
    variable = {"TOUCHPOINT_PLUGINS__FOLDER": str(tmp_path / "plugins")}
    printed = touchpoint("plugins", "--hashes", "--config", deployment["config"], **variable).stdout
    assert 'shop = "sha256:' in printed
    assert "# broken: " in printed
    assert tomllib.loads(printed)["plugins"]["allowed"].keys() == {"shop", "shop.eu"}
