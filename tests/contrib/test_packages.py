"""Every plugin in ``contrib`` passes its tests and kits offline, and its report of ``plugin check`` is that of these tests."""

import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

from hosts.plugin_author.run_tests import read_results
from tests.contrib.write_reports import CONTRIB, ONE_FILE, PACKAGES, PLUGINS, report_file

LEVELS = ("silver", "gold")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The tests of all plugins, by name, run in one process as `plugin check` runs them."""
    results = tmp_path_factory.mktemp("results") / "results.xml"
    paths = [*PACKAGES, ONE_FILE.parent]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:randomly",
        "-p", "hosts.plugin_author.offline_tests", "-o", "asyncio_mode=auto", "-o", "junit_family=xunit1", "--import-mode=prepend",
        "-o", "asyncio_default_fixture_loop_scope=function", f"--rootdir={CONTRIB}", f"--junitxml={results}", *paths,
    ]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return [asdict(test) | {"seconds": None} for test in read_results(results)]


def test_there_are_eight_examples():
    assert len(PLUGINS) == 8


def test_reports_are_those_of_the_tests(ran):
    reports = [json.loads(report_file(plugin).read_text()) for plugin in PLUGINS]
    reported = [test | {"seconds": None} for report in reports for test in report["tests"]]

    def key(test):
        return test["name"], test["kit"]

    assert sorted(reported, key=key) == sorted(ran, key=key)


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.stem)
def test_report_has_every_rule_and_a_level(plugin):
    report = json.loads(report_file(plugin).read_text())
    assert (report["plugin"], report["level"] in LEVELS) == (plugin.stem, True)
    assert {rule["rule"] for rule in report["rules"]} == {
        "loads", "declaration", "imports", "tests", "kit", "types", "security", "documentation",
    }  # fmt: skip
    assert report_file(plugin).with_suffix(".md").read_text().startswith("# Check of the plugin")
