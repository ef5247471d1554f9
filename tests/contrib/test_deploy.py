"""The files of `contrib/deploy` say what this version understands: commands, settings, metrics and units."""

import json
import os
import re
import shlex
import subprocess
import sys

import click
import pytest
import typer
import yaml
from prometheus_client.metrics import MetricWrapperBase

from hosts.cli import app
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import list_setting_names
from hosts.composition.ports import PORTS
from hosts.monitoring import prometheus_metrics
from hosts.roles.models import Role
from hosts.roles.supervise import count_processes_by_role
from service_core.extensions.adapters import parse_adapter_settings
from service_core.kernel.settings import Settings
from tests.contrib.deployment_files import (
    DEPLOY,
    ENTRYPOINT,
    ROOT,
    SECRETS,
    compose_services,
    environment_file,
    systemd_service,
    unit_sections,
)

COMPOSE = sorted(DEPLOY.rglob("compose.yaml"))
UNITS = sorted(
    path for path in DEPLOY.rglob("touchpoint*") if path.suffix in {".service", ".socket", ".timer"}
)
ENVIRONMENTS = sorted(DEPLOY.rglob("environment"))
METERS = [meter for meter in vars(prometheus_metrics).values() if isinstance(meter, MetricWrapperBase)]
BACKUP_OPTIONS = {("events", "postgresql"), ("events", "clickhouse")}
"""Stores that may be installed apart from this test's environment."""

PORT_NAMES = {port.setting: port.name for port in PORTS.values()}
KEYS = {
    "Unit": {"Description", "Documentation", "After", "Requires", "Wants"},
    "Service": {
        "Type", "User", "StateDirectory", "StateDirectoryMode", "Environment", "EnvironmentFile", "ExecStart",
        "ExecStartPost", "Restart", "RestartSec", "KillMode", "TimeoutStopSec", "LimitNOFILE", "NoNewPrivileges",
        "PrivateTmp", "ProtectHome", "ProtectSystem",
    },
    "Socket": {"ListenStream", "Backlog"},
    "Timer": {"OnCalendar", "RandomizedDelaySec", "Persistent"},
    "Install": {"WantedBy"},
}  # fmt: skip
"""Section of a unit -> the keys systemd knows of which these files use some."""


def file_name(path):
    return str(path.relative_to(DEPLOY))


def parse_command_line(words):
    """The parameters of a command line, as the command itself reads them; nothing is run."""
    command = typer.main.get_command(app)
    context = click.Context(command)
    name, found, rest = command.resolve_command(context, list(words))
    return name, found.make_context(name, rest).params


def setting_values(environment):
    """Settings that an environment file or section names."""
    return {
        name.removeprefix("TOUCHPOINT_").lower().replace("__", "."): value
        for name, value in environment.items()
        if name.startswith("TOUCHPOINT_")
    }


def assert_settings_exist(found):
    registry = load_installed_registry_once()
    for name, value in found.items():
        assert name in list_setting_names()
        port = PORT_NAMES.get(name)
        if port is None:
            continue
        if (port, value.partition("://")[0]) in registry.adapters:
            registry.local_data_of_url(port, value, base_folder=DEPLOY)
        else:
            assert (port, value.partition("://")[0]) in BACKUP_OPTIONS


@pytest.mark.parametrize("path", COMPOSE, ids=file_name)
def test_compose_services_use_existing_commands_and_settings(path):
    for service in yaml.safe_load(path.read_text())["services"].values():
        if service.get("build"):
            assert (path.parent / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    for service in compose_services(path, SECRETS):
        command, given = parse_command_line(service.words[1:])
        assert command == "serve"
        assert_settings_exist(setting_values(service.environment))
        assert given["role"] is None or given["role"].value == service.name


def list_systemd_services():
    for path in UNITS:
        names = [path]
        if path.stem.endswith("@"):
            names = [path.with_name(path.name.replace("@", f"@{role}")) for role in Role]
        for name in names:
            yield pytest.param(path, name.stem.partition("@")[2], id=file_name(name))


@pytest.mark.parametrize(("path", "instance"), list(list_systemd_services()))
def test_systemd_units_use_known_keys_and_existing_commands(path, instance):
    for section, result in unit_sections(path, instance).items():
        assert set(result) <= KEYS[section]
    if path.suffix in {".socket", ".timer"}:
        assert path.with_suffix(".service").exists()
        return
    service = systemd_service(path, {}, instance)
    words = service.words
    if words[0] == "/bin/sh":
        words = shlex.split(words[2].removeprefix("exec ").replace("$(date +%F-%H%M)", "now"))
    assert words[0] == ENTRYPOINT
    _, given = parse_command_line(words[1:])
    assert str(given["config"]).startswith("/var/lib/touchpoint/")
    if instance:
        assert given["role"].value == instance
    assert_settings_exist(setting_values(service.environment))


@pytest.mark.parametrize("path", [path for path in UNITS if path.suffix == ".socket"], ids=file_name)
def test_socket_units_open_the_addresses_of_the_settings(path):
    opened = unit_sections(path)["Socket"]["ListenStream"].splitlines()
    assert opened == [Settings().http.api, Settings().http.ingest]


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=file_name)
def test_environment_files_use_existing_settings_and_schemes(path):
    assert_settings_exist(setting_values(environment_file(path)))


def test_every_role_has_a_service_in_multi_process_deployments():
    services = yaml.safe_load((DEPLOY / "many-machines" / "compose.yaml").read_text())["services"]
    assert set(services) == set(Role)


STOCK_CONNECTIONS = 100 - 3
"""`max_connections` of PostgreSQL as it is installed, without those it reserves for its superuser."""
COMMAND_CONNECTIONS = 5
"""What a command line beside the service takes."""


def count_processes_by_role_of_command(parameters):
    role = None if parameters["role"] is None else Role(parameters["role"].value)
    if role is Role.WORKER:
        return {role: parameters["processes_per_role"]}
    return count_processes_by_role(role, parameters["processes_per_role"])


def count_postgresql_connections(services):
    """How many connections the processes of a deployment open at most."""
    registry, total = load_installed_registry_once(), 0
    for service in services:
        _, given = parse_command_line(service.words[1:])
        stores = {}
        for port in ("workspace", "events"):
            url = setting_values(service.environment)[PORTS[port].setting]
            if url.startswith("postgresql://"):
                adapter = registry.adapter_for_url_scheme(port, url)
                stores[port] = parse_adapter_settings(adapter, url, DEPLOY)
        for role, count in count_processes_by_role_of_command(given).items():
            for port, settings in stores.items():
                if role in PORTS[port].roles:
                    # A watcher of changes; a writer and two exports at a time.
                    total += count * (
                        settings.connections + 1 if port == "workspace" else settings.readers + 3
                    )
    return total


@pytest.mark.parametrize("size", ["several-processes", "many-machines"])
def test_deployments_fit_into_the_connections_of_a_stock_postgresql(size):
    services = list(compose_services(DEPLOY / size / "compose.yaml", SECRETS))
    assert 0 < count_postgresql_connections(services) <= STOCK_CONNECTIONS - COMMAND_CONNECTIONS


def dashboard_expressions():
    dashboard = json.loads((DEPLOY / "dashboard.json").read_text())
    return {
        (panel["title"], target["expr"])
        for panel in dashboard["panels"]
        for target in panel.get("targets", [])
    }


def test_dashboard_shows_every_metric_and_no_unknown_one():
    declared = {metric._name for metric in METERS}
    used = {
        name.removesuffix("_total").removesuffix("_bucket").removesuffix("_count").removesuffix("_sum")
        for _, expression in dashboard_expressions()
        for name in re.findall(r"touchpoint_\w+", expression)
    }
    assert used == declared


def test_alert_rules_use_existing_metrics():
    declared = {metric._name for metric in METERS}
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    for rule in rules:
        for used in re.findall(r"touchpoint_\w+", rule["expr"]):
            assert used.removesuffix("_total").removesuffix("_bucket") in declared, rule["alert"]
        assert rule["annotations"]["summary"].endswith(".")


def test_metrics_page_documents_every_metric_and_alert():
    page = (ROOT / "docs" / "deployers" / "monitoring.md").read_text()
    assert all(metric._name in page for metric in METERS)
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    assert page.partition("## Alerts")[2].partition("Events that")[0].count("\n| ") == len(rules) + 1


def test_container_image_installs_its_pins_and_starts_the_command():
    text = (DEPLOY / "Containerfile").read_text()
    assert "--require-hashes --only-binary :all: -r requirements/image.txt" in text
    assert "--no-deps ." in text
    assert 'ENTRYPOINT ["touchpoint"]' in text
    (command,) = re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)
    assert parse_command_line(yaml.safe_load(command))[0] == "serve"
    for copied in re.findall(r"^COPY (?!--from)(\S+) ", text, re.MULTILINE):
        assert (ROOT / copied).exists()


@pytest.mark.parametrize("path", COMPOSE, ids=file_name)
def test_compose_settings_open_every_adapter_with_the_packages_of_the_image(path, tmp_path):
    """A process that can import what `requirements/image.txt` pins, and nothing else that is installed here."""
    services_by_settings = {
        (parse_command_line(service.words[1:])[1]["server"], *sorted(service.environment.items())): service
        for service in compose_services(path, SECRETS)
    }
    own = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHPOINT_")}
    for (server, *settings), service in services_by_settings.items():
        values = {name: value.replace("//data", f"/{tmp_path}") for name, value in settings}
        opened = subprocess.run(
            [sys.executable, "-m", "tests.contrib.image_packages", server or "hypercorn"],
            cwd=ROOT, env=own | values, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (opened.returncode, opened.stderr) == (0, ""), service.name
