"""``touchpoint plugin new`` and ``plugin check``: every kind installs, loads and passes its kit; faults are found."""

import ast
import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from hosts.cli import app
from hosts.plugin_author.check import check_plugin, find_plugin
from hosts.plugin_author.kinds import KINDS
from hosts.plugin_author.report import Level, PluginReport, RuleResult
from hosts.plugin_author.saved_report import RULES, read_level_of_unchanged_code, save_report
from hosts.plugin_author.scaffold import write_plugin_package
from hosts.plugin_author.source_rules import (
    find_blocking_calls,
    find_dangerous_calls,
    find_forbidden_imports,
    find_undeclared_hosts,
    find_undeclared_secrets,
)
from service_core.extensions.plugin_values import VALUE_KINDS
from service_core.kernel.errors import StartupError

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis"]
PYTEST += ["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packages")
    return [write_plugin_package(kind, f"acme_{kind}", folder) for kind in KINDS]


@pytest.fixture(scope="module")
def site(packages, tmp_path_factory):
    """All packages, installed by pip without a network."""
    target = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
    ]
    command += ["--disable-pip-version-check", "--target", target, *packages]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


def test_every_kind_is_installed_loaded_and_passes_its_kit(packages, site):
    tests = [package / "tests" for package in packages]
    environment = os.environ | {"PYTHONPATH": str(site)}
    command = [
        *PYTEST,
        "--rootdir",
        str(packages[0].parent),
        "-p",
        "hosts.plugin_author.offline_tests",
        *tests,
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    listed = subprocess.run(
        [sys.executable, "-m", "hosts.cli", "plugins", "--json"],
        env=environment, capture_output=True, text=True, check=True, cwd=site,
    )  # fmt: skip
    plugins = {plugin["name"]: plugin for plugin in json.loads(listed.stdout)["plugins"]}
    assert {f"acme_{kind}" for kind in KINDS} <= plugins.keys()
    hooks = {hook for kind in KINDS for hook in plugins[f"acme_{kind}"]["provides"]}
    assert hooks == VALUE_KINDS.keys()
    assert plugins["acme_geo"]["package"] == "touchpoint-acme-geo"


def test_checked_package_has_a_level_by_the_rules_that_ran(packages, tmp_path):
    (package,) = [package for package in packages if package.name == "acme_geo"]
    arguments = [
        "plugin",
        "check",
        str(package),
        "--no-types",
        "--json",
        "--report",
        str(tmp_path / "report"),
    ]
    done = CliRunner().invoke(app, arguments)
    report = json.loads(done.stdout)
    results = {rule["rule"]: rule["passed"] for rule in report["rules"]}
    assert results.pop("types") is None
    assert set(results.values()) == {True}
    assert report["level"] == "bronze"
    assert {test["kit"] for test in report["tests"]} >= {"GeoLocatorConformance", "PluginConformance"}
    assert json.loads((tmp_path / "report.json").read_text()) == report
    page = (tmp_path / "report.md").read_text()
    assert "| tests | silver | passed |" in page
    assert "Text of a client that is no address raises no error." in page


def test_plugin_without_declaration_or_with_a_fault_has_no_level(tmp_path):
    file = tmp_path / "acme.py"
    file.write_text("raise RuntimeError('no licence')\n")
    report = check_plugin(file, with_types=False)
    assert report.level is None
    assert "no licence" in report.results[0].details[0]


@pytest.mark.parametrize(
    ("missing", "level"),
    [(None, Level.GOLD), ("gold", Level.SILVER), ("silver", Level.BRONZE), ("bronze", None)],
)
@pytest.mark.parametrize("passed", [False, None])
def test_level_needs_every_rule_of_the_levels_before_it(missing, level, passed):
    results = tuple(RuleResult(f"of {each}", each, True if each != missing else passed) for each in Level)
    assert PluginReport("acme", {}, results, ()).level == level


@pytest.mark.parametrize(
    ("find", "source", "finding"),
    [
        (
            find_forbidden_imports,
            "from service_core.kernel.money import to_major",
            "service_core.kernel.money",
        ),
        (find_forbidden_imports, "import plugins.events_sql", "plugins.events_sql"),
        (find_forbidden_imports, "from service_core.plugin import hook", None),
        (find_forbidden_imports, "from .plugins import shop", None),
        (find_blocking_calls, "async def send():\n    time.sleep(1)", "time.sleep blocks the event loop"),
        (find_blocking_calls, "async def send():\n    requests.post(url)", "requests.post"),
        (find_blocking_calls, "def send():\n    time.sleep(1)", None),
        (find_blocking_calls, "async def send():\n    await to_thread(lambda: time.sleep(1))", None),
        (find_dangerous_calls, "eval(text)", "runs text as code"),
        (find_dangerous_calls, "subprocess.run(command)", "starts a program"),
        (find_dangerous_calls, "key = os.environ['KEY']", "environment of the service"),
        (find_dangerous_calls, "os.getenv('KEY')", "environment of the service"),
        (find_dangerous_calls, "evaluate(text)", None),
    ],
)
def test_source_rule_finds_what_it_is_for(find, source, finding):
    assert_finding(list(find("acme.py", ast.parse(source))), finding)


@pytest.mark.parametrize(
    ("find", "source", "finding"),
    [
        (find_undeclared_hosts, "URL = 'https://evil.example/x'", "evil.example"),
        (find_undeclared_hosts, "URL = 'https://known/x'", None),
        (find_undeclared_hosts, "PluginInfo(homepage='https://evil.example')", None),
        (find_undeclared_secrets, "secrets['token']", "'token'"),
        (find_undeclared_secrets, "call.secrets.get('token', '')", "'token'"),
        (find_undeclared_secrets, "call.secrets.get('known')", None),
        (find_undeclared_secrets, "fields.get('token')", None),
    ],
)
def test_source_rule_compares_with_the_declaration(find, source, finding):
    assert_finding(list(find("acme.py", ast.parse(source), {"known"})), finding)


def assert_finding(findings, expected):
    assert bool(findings) is (expected is not None), findings
    if expected is not None:
        assert expected in str(findings[0])
        assert findings[0].line >= 1


def test_tests_of_a_plugin_reach_no_other_machine(tmp_path):
    (tmp_path / "test_network.py").write_text(
        "import socket, pytest\n\n\ndef test_it():\n    with pytest.raises(OSError, match='offline'):\n"
        "        socket.create_connection(('192.0.2.1', 80), timeout=1)\n"
    )
    command = [*PYTEST, "-p", "hosts.plugin_author.offline_tests", "--rootdir", str(tmp_path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


def test_check_of_one_file_runs_no_other_file_of_its_folder(tmp_path):
    (tmp_path / "acme.py").write_text("")
    (tmp_path / "other.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    check_plugin(tmp_path / "acme.py", with_types=False)
    assert not (tmp_path / "ran").exists()


def test_skipped_test_has_not_passed(tmp_path):
    (tmp_path / "acme.py").write_text("")
    (tmp_path / "test_acme.py").write_text("import pytest\n\n\ndef test_it():\n    pytest.skip()\n")
    report = check_plugin(tmp_path / "acme.py", with_types=False)
    assert [test.passed for test in report.tests] == [None]
    assert {rule.rule: rule.passed for rule in report.results}["tests"] is False


def test_entry_point_may_name_an_object_of_a_module(tmp_path):
    (tmp_path / "acme.py").write_text("")
    (tmp_path / "pyproject.toml").write_text('[project.entry-points.touchpoint]\nshop = "acme:plugin"\n')
    assert find_plugin(tmp_path).modules == (tmp_path / "acme.py",)


@pytest.mark.parametrize("name", ["Acme", "1acme", "acme-shop", "acme_", "class", "hosts", "json", ""])
def test_name_that_is_no_identifier_is_refused(name, tmp_path):
    with pytest.raises(StartupError, match="is no name of a plugin"):
        write_plugin_package("geo", name, tmp_path)


def test_unknown_kind_is_answered_with_the_known_ones(tmp_path):
    done = CliRunner().invoke(app, ["plugin", "new", "geos", "acme", "--dir", str(tmp_path)])
    assert done.exit_code == 2
    assert "rate_source" in done.output


def test_saved_report_gives_the_level_until_the_code_changes(tmp_path, monkeypatch):
    code = tmp_path / "acme_saved.py"
    code.write_text(
        "from service_core.plugin import PluginInfo, hook\n\n\n"
        "@hook\ndef plugin_info():\n    return PluginInfo('Saved')\n\n\n"
        "with open(__file__ + '.runs', 'a') as runs:\n    runs.write('x')\n"
    )
    results = tuple(RuleResult(rule, Level.BRONZE, True) for rule in RULES)
    save_report(PluginReport("acme_saved", {}, results, ()), code)
    monkeypatch.setenv("TOUCHPOINT_PLUGINS__FOLDER", str(tmp_path))
    listed = json.loads(CliRunner().invoke(app, ["plugins", "--json"]).stdout)["plugins"]
    levels = {plugin["name"]: plugin["level"] for plugin in listed}
    assert (levels["acme_saved"], levels["revenue_stripe"]) == ("gold", None)
    assert (tmp_path / "acme_saved.py.runs").read_text() == "x", "it was imported again"
    code.write_text(f"{code.read_text()}# changed\n")
    assert read_level_of_unchanged_code(code) is None


def test_saved_report_without_a_rule_or_with_a_failed_one_gives_a_lower_level_or_none(tmp_path):
    code = tmp_path / "acme.py"
    code.write_text("")
    results = {rule: RuleResult(rule, level, True) for rule, level in RULES.items()}
    failed = results | {"kit": RuleResult("kit", Level.SILVER, False)}
    for rules, level in ((results, Level.GOLD), (failed, Level.BRONZE), (results | {"kit": None}, None)):
        kept = tuple(result for result in rules.values() if result is not None)
        save_report(PluginReport("acme", {}, kept, ()), code)
        assert read_level_of_unchanged_code(code) == level
    assert read_level_of_unchanged_code(tmp_path / "none.py") is None


def test_check_saves_its_report_with_every_rule(tmp_path):
    file = tmp_path / "acme.py"
    file.write_text("from service_core.plugin import hook\n")
    CliRunner().invoke(app, ["plugin", "check", str(file), "--no-types", "--save"])
    saved = json.loads((tmp_path / "acme.plugin_report.json").read_text())
    assert {rule["rule"]: rule["level"] for rule in saved["rules"]} == RULES
