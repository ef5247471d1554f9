"""The files of `contrib/deploy` say what this version understands: commands, settings, metrics and units."""

import re
import shlex
import tomllib

import click
import pytest
import typer
import yaml
from prometheus_client.metrics import MetricWrapperBase

from hosts.cli import app
from hosts.composition.compose import load_installed_registry
from hosts.composition.load_settings import list_setting_names
from hosts.composition.ports import PORTS
from hosts.monitoring import prometheus_metrics
from hosts.roles.models import Role
from tests.contrib.deployment_files import (
    DEPLOY,
    ENTRYPOINT,
    ROOT,
    SECRETS,
    composed,
    sections,
    settings,
    unit,
)

COMPOSE = sorted(DEPLOY.rglob("compose.yaml"))
UNITS = sorted(path for path in DEPLOY.rglob("touchpoint*") if path.suffix in {".service", ".timer"})
ENVIRONMENTS = sorted(DEPLOY.rglob("environment"))
METERS = [meter for meter in vars(prometheus_metrics).values() if isinstance(meter, MetricWrapperBase)]
SOON = {("events", "postgresql"), ("events", "clickhouse")}
"""Stores that may be installed apart from this test's environment."""

PORT_NAMES = {port.setting: port.name for port in PORTS.values()}
KEYS = {
    "Unit": {"Description", "Documentation", "After", "Wants"},
    "Service": {
        "Type", "User", "StateDirectory", "StateDirectoryMode", "Environment", "EnvironmentFile", "ExecStart",
        "ExecStartPost", "Restart", "RestartSec", "KillMode", "TimeoutStopSec", "LimitNOFILE", "NoNewPrivileges",
        "PrivateTmp", "ProtectHome", "ProtectSystem",
    },
    "Timer": {"OnCalendar", "RandomizedDelaySec", "Persistent"},
    "Install": {"WantedBy"},
}  # fmt: skip
"""Section of a unit -> the keys systemd knows of which these files use some."""


def name_of(path):
    return str(path.relative_to(DEPLOY))


def parsed(words):
    """The parameters of a command line, as the command itself reads them; nothing is run."""
    command = typer.main.get_command(app)
    context = click.Context(command)
    name, found, rest = command.resolve_command(context, list(words))
    return name, found.make_context(name, rest).params


def values(environment):
    """Settings that an environment file or section names."""
    return {
        name.removeprefix("TOUCHPOINT_").lower().replace("__", "."): value
        for name, value in environment.items()
        if name.startswith("TOUCHPOINT_")
    }


def check_settings(found):
    registry = load_installed_registry()
    for name, value in found.items():
        assert name in list_setting_names()
        port = PORT_NAMES.get(name)
        if port is None:
            continue
        if (port, value.partition("://")[0]) in registry.adapters:
            registry.local_data_of_url(port, value, folder=DEPLOY)
        else:
            assert (port, value.partition("://")[0]) in SOON


@pytest.mark.parametrize("path", COMPOSE, ids=name_of)
def test_services_of_a_compose_file_are_commands_and_settings_of_this_version(path):
    for service in yaml.safe_load(path.read_text())["services"].values():
        if service.get("build"):
            assert (path.parent / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    for service in composed(path, SECRETS):
        command, given = parsed(service.words[1:])
        assert command == "serve"
        check_settings(values(service.environment))
        assert given["role"] is None or given["role"].value == service.name


def units():
    for path in UNITS:
        names = [path]
        if path.stem.endswith("@"):
            names = [path.with_name(path.name.replace("@", f"@{role}")) for role in Role]
        for name in names:
            yield pytest.param(path, name.stem.partition("@")[2], id=name_of(name))


@pytest.mark.parametrize(("path", "instance"), list(units()))
def test_units_use_keys_systemd_knows_and_commands_of_this_version(path, instance):
    for section, told in sections(path, instance).items():
        assert set(told) <= KEYS[section]
    if path.suffix == ".timer":
        assert path.with_suffix(".service").exists()
        return
    service = unit(path, {}, instance)
    words = service.words
    if words[0] == "/bin/sh":
        words = shlex.split(words[2].removeprefix("exec ").replace("$(date +%F-%H%M)", "now"))
    assert words[0] == ENTRYPOINT
    _, given = parsed(words[1:])
    assert str(given["config"]).startswith("/var/lib/touchpoint/")
    if instance:
        assert given["role"].value == instance
    check_settings(values(service.environment))


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=name_of)
def test_environments_name_settings_and_stores_of_this_version(path):
    check_settings(values(settings(path)))


def test_every_role_has_a_service_where_roles_run_apart():
    services = yaml.safe_load((DEPLOY / "many-machines" / "compose.yaml").read_text())["services"]
    assert set(services) == set(Role)


def test_alerts_watch_metrics_there_are():
    declared = {metric._name for metric in METERS}
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    for rule in rules:
        for used in re.findall(r"touchpoint_\w+", rule["expr"]):
            assert used.removesuffix("_total").removesuffix("_bucket") in declared, rule["alert"]
        assert rule["annotations"]["summary"].endswith(".")


def test_the_page_of_metrics_names_each_and_every_alert_has_a_line():
    page = (ROOT / "docs" / "deployers" / "monitoring.md").read_text()
    assert all(metric._name in page for metric in METERS)
    rules = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"][0]["rules"]
    assert page.partition("## Alerts")[2].partition("Events that")[0].count("\n| ") == len(rules) + 1


def test_the_image_installs_extras_there_are_and_starts_the_command():
    text = (DEPLOY / "Containerfile").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for named in re.findall(r'"\.\[([\w,]+)\]"', text):
        assert set(named.split(",")) <= set(extras)
    assert 'ENTRYPOINT ["touchpoint"]' in text
    (command,) = re.findall(r"^CMD (\[.*\])$", text, re.MULTILINE)
    assert parsed(yaml.safe_load(command))[0] == "serve"
    for copied in re.findall(r"^COPY (?!--from)(\S+) ", text, re.MULTILINE):
        assert (ROOT / copied).exists()
