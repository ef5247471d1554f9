"""``touchpoint plugins``, ``config check`` and ``--help``: what is there, told without a traceback."""

import re
import subprocess
import sys
from importlib.metadata import version

import pytest
from typer.main import get_command

from hosts.cli import app
from hosts.composition.compose import load_installed_registry_once
from hosts.composition.load_settings import redact_url
from hosts.startup_warnings import list_public_free_signup_warnings
from service_core.kernel.settings import Settings


def test_plugins_names_adapters_by_port_and_scheme_and_every_metric(touchpoint):
    output = touchpoint("plugins").stdout
    registry = load_installed_registry_once()
    for port, scheme in registry.adapters:
        assert any(port in line and f"{scheme}://" in line for line in output.splitlines())
    assert all(metric in output for metric in registry.catalog.metrics)
    assert all(dimension in output for dimension in registry.catalog.dimensions)
    assert re.search(r"^ ?revenuecat +revenue *$", output, re.MULTILINE)


def test_json_output_is_neither_wrapped_nor_cut(touchpoint):
    assert ", ".join(load_installed_registry_once().plugins) in touchpoint("plugins", COLUMNS="").stdout


def test_plugins_names_the_adapters_of_the_deployment_it_is_given(touchpoint, deployment, tmp_path):
    assert "duckdb:///events.duckdb" in touchpoint("plugins", "--config", deployment["config"]).stdout
    assert "touchpoint init DIR" in touchpoint("plugins", "--config", tmp_path / "none.toml", code=2).stderr


def test_config_check_lists_roles_without_starting_them(touchpoint, deployment, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "shop").iterdir()}
    output = touchpoint("config", "check", "--config", deployment["config"]).stdout
    for word in (
        "duckdb:///events.duckdb",
        "sqlite:///workspace.db",
        "127.0.0.1:8080",
        "hypercorn",
        "is valid",
    ):
        assert word in output
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "shop").iterdir()} == before


def test_config_check_skips_dns_without_link_domains(touchpoint, deployment):
    away = {"TOUCHPOINT_LINKS__DNS_RESOLVER": "dns://127.0.0.1:1?timeout_seconds=0.2"}
    assert "is valid" in touchpoint("config", "check", "--config", deployment["config"], **away).stdout


def test_config_check_warns_about_free_public_signup(touchpoint, deployment):
    check = "config", "check", "--config", deployment["config"]
    assert "Caution" not in touchpoint(*check).stdout
    output = touchpoint(*check, TOUCHPOINT_HTTP__ROOT_URL="https://t.example").stdout
    assert "signup.checkout is sandbox://" in output
    assert "is valid" in output


@pytest.mark.parametrize(
    ("section", "free"),
    [
        ({}, False),
        ({"http": {"api": "[::1]:8080", "root_url": "http://shop.localhost:8080"}}, False),
        ({"http": {"api": "0.0.0.0:8080"}}, True),
        ({"http": {"root_url": "https://t.example"}}, True),
        ({"http": {"app_url": "https://t.example/app"}, "signup": {"mode": "verification"}}, True),
        ({"http": {"root_url": "https://t.example"}, "signup": {"mode": "closed"}}, False),
        ({"http": {"root_url": "https://t.example"}, "signup": {"checkout": "stripe://"}}, False),
    ],
)
def test_serve_warns_about_free_signup_on_public_addresses(section, free):
    assert bool(list_public_free_signup_warnings(Settings.model_validate(section))) is free


BROKEN = {
    "an unknown setting": ('[storage]\nevnts = "x"', "storage.evnts", "Did you mean storage.events"),
    "an unknown scheme": ('[storage]\nevents = "oracle://db"', "oracle", "Installed:"),
    "a URL that does not fit": (
        '[rate_limits]\nstore = "memory://?size=1"',
        "size is not an option",
        "Options after its ?",
    ),
    "a bad value": ('[http]\nserver = "apache"', "http.server", "hypercorn"),
    "a database that is no database": (
        '[storage]\nworkspace = "sqlite:///touchpoint.toml"',
        "touchpoint.toml",
        "name another file",
    ),
    "a server that is away": (
        '[storage]\nworkspace = "postgresql://ann:sesame@127.0.0.1:1/shop"',
        "127.0.0.1:1/shop",
        "See that the server runs",
    ),
    "an event store that is away": (
        '[storage]\nevents = "postgresql://ann:sesame@127.0.0.1:1/shop"',
        "127.0.0.1:1, database shop",
        "See that the server runs",
    ),
    "a cluster that is away": (
        '[storage]\nevents = "clickhouse://ann:sesame@127.0.0.1:1/shop"',
        "Connection refused",
        "See that the server runs",
    ),
    "a queue that is away": (
        '[ingest]\nqueue = "redis://:sesame@127.0.0.1:1/0"',
        "ingest.queue does not answer",
        "See that it runs",
    ),
    "counters that are away": (
        '[rate_limits]\nstore = "redis://:sesame@127.0.0.1:1/0"',
        "rate_limits.store does not answer",
        "See that it runs",
    ),
    "a memory of redirects that is away": (
        '[links]\nredirect_cache = "redis://:sesame@127.0.0.1:1/0"',
        "links.redirect_cache does not answer",
        "See that it runs",
    ),
    "workers that nobody can wake": (
        '[exports]\nqueue = "redis://:sesame@127.0.0.1:1/0"',
        "exports.queue does not answer",
        "See that it runs",
    ),
    "a bucket that is away": (
        '[exports]\nstorage = "s3://key:sesame@files?endpoint=http%3A%2F%2F127.0.0.1:1"',
        "The bucket files of exports.storage cannot be used",
        "endpoint, key and secret",
    ),
    "a mail server that is away": (
        '[mail]\ntransport = "smtp://ann:sesame@127.0.0.1:1?sender=touchpoint@example.com"',
        "127.0.0.1:1 of mail.transport cannot be used",
        "See that host, port, security",
    ),
    "a name server that is away": (
        '[links]\ndomain = "go.example.com"\ndns_resolver = "dns://127.0.0.1:1?timeout_seconds=0.2"',
        "no link domain can be verified",
        "dns://9.9.9.9",
    ),
    "what is no URL": ('[storage]\nevents = "events.duckdb"', "'events.duckdb' is no URL", "duckdb://"),
    "what is no address": ('[http]\napi = "localhost"', "http.api", "HOST:PORT"),
    "a port beyond all": ('[http]\napi = "localhost:80800"', "http.api", "HOST:PORT"),
    "a proxy without an address": ('[ingest]\ntrusted_proxies = ["proxy"]', "trusted_proxies", "10.0.0.0/8"),
    "a link domain with more than a host": (
        '[links]\ndomain = "https://go.example.com"',
        "links.domain",
        "host",
    ),
    "redirects without their host": (
        '[http]\nredirects = "127.0.0.1:8082"',
        "http.redirects is set",
        "set links.domain",
    ),
    "a public address without a scheme": (
        '[http]\nroot_url = "analytics.example.com"',
        "http.root_url",
        "write it as https://",
    ),
    "a file with two slashes": (
        '[storage]\nevents = "duckdb://events.duckdb"',
        "has to name a file",
        "duckdb:///events.duckdb",
    ),
    "no TOML": ("storage = [", "cannot be read", "touchpoint.toml"),
}


@pytest.mark.parametrize(("text", "what", "advice"), BROKEN.values(), ids=BROKEN)
def test_broken_deployment_prints_one_sentence_and_exits_with_2(touchpoint, tmp_path, text, what, advice):
    file = tmp_path / "touchpoint.toml"
    file.write_text(text)
    result = touchpoint("config", "check", "--config", file, code=2)
    assert what in result.stderr
    assert advice in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.output
    assert "sesame" not in result.output
    assert result.stdout == ""


def test_missing_settings_file_suggests_init(touchpoint, tmp_path):
    result = touchpoint("config", "check", "--config", tmp_path / "none.toml", code=2)
    assert "touchpoint init DIR" in result.stderr


def test_passwords_in_urls_are_not_printed():
    assert redact_url("redis://user:hunter2@host:6379/0") == "redis://user:***@host:6379/0"
    assert (
        redact_url("stripe://:sk@api?webhook_secret=w&growth=p")
        == "stripe://:***@api?webhook_secret=***&growth=p"
    )
    assert redact_url("sqlite:///workspace.db") == "sqlite:///workspace.db"


def test_help_imports_no_heavy_library():
    code = (
        "import sys, hosts.cli\n"
        "heavy = {'alembic', 'dependency_injector', 'duckdb', 'hypercorn', 'polars', 'pydantic', 'quart', 'rich', 'sqlalchemy'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == ""


def list_commands(group, *path):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from list_commands(command, *path, name)
        else:
            yield (*path, name), command


COMMANDS = dict(list_commands(get_command(app)))
COMMANDS_WITHOUT_DEPLOYMENT = {
    ("docs",): "writes the pages of this repository",
    ("plugin", "new"): "writes a package",
    ("plugin", "check"): "checks a package",
}
"""Commands without ``--config``."""


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_help_and_takes_a_settings_file(touchpoint, path):
    assert "Usage" in touchpoint(*path, "--help").stdout
    assert any("--config" in option.opts for option in COMMANDS[path].params) != (
        path in COMMANDS_WITHOUT_DEPLOYMENT
    )


def test_version_is_that_of_the_package(touchpoint):
    assert touchpoint("--version").stdout == f"touchpoint {version('touchpoint-analytics')}\n"


def test_command_descriptions_are_not_cut(touchpoint):
    groups = [(), *{path[:-1] for path in COMMANDS if len(path) > 1}]
    for path in groups:
        assert "..." not in touchpoint(*path, "--help").stdout.partition("Commands:")[2]
