"""Runs the tests of a plugin in a process without other machines, and reads what each test promises."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Final
from xml.etree import ElementTree as ET

from hosts.plugin_author.report import KitTest, Level, RuleResult

_TESTS_SECONDS: Final = 300
_LAST_LINES: Final = 15


def run_tests_offline(
    path: Path, environment: Mapping[str, str], site: Path
) -> tuple[list[KitTest], RuleResult]:
    """Runs the tests of a plugin.

    Args:
        path: folder of the plugin, or its one file.
        environment: environment in which it can be imported.
        site: folder with its metadata.

    Returns:
        Each test, and the result of the rule that there are tests and all of them pass.
    """
    tests = path if path.is_dir() else path.with_name(f"test_{path.name}")
    if not tests.exists() or (tests.is_dir() and not any(tests.rglob("test_*.py"))):
        return [], RuleResult("tests", Level.SILVER, False, ("there are no tests",))
    began = monotonic()
    with tempfile.TemporaryDirectory(prefix="touchpoint-tests-") as folder:
        results = Path(folder) / "results.xml"
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:randomly",
            "-p", "hosts.plugin_author.offline_tests", "-o", "asyncio_mode=auto", "-o", "junit_family=xunit1",
            f"--rootdir={tests if tests.is_dir() else tests.parent}", f"--junitxml={results}", str(tests),
        ]  # fmt: skip
        known = {**environment, "PYTHONPATH": os.pathsep.join([str(site), environment["PYTHONPATH"]])}
        try:
            done = subprocess.run(  # noqa: S603 - the command is ours
                command, env=known, cwd=folder, capture_output=True, text=True, check=False, timeout=_TESTS_SECONDS
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            detail = f"the tests take more than {_TESTS_SECONDS} seconds"
            return [], RuleResult("tests", Level.SILVER, False, (detail,), monotonic() - began)
        ran = read_results(results) if results.exists() else []
    if "No module named pytest" in done.stderr:
        return [], RuleResult("tests", Level.SILVER, None, ("pytest is not installed",))
    passed = done.returncode == 0 and any(test.passed for test in ran)
    count = f"{sum(test.passed is True for test in ran)} of {len(ran)} tests passed"
    details = (
        (count,) if passed else (count, *(done.stdout + done.stderr).strip().splitlines()[-_LAST_LINES:])
    )
    return ran, RuleResult("tests", Level.SILVER, passed, details, monotonic() - began)


def read_results(file: Path) -> list[KitTest]:
    """Returns the tests in a JUnit file that pytest wrote with `hosts.plugin_author.offline_tests`."""
    return [_read_case(case) for case in ET.parse(file).iter("testcase")]  # noqa: S314 - pytest wrote it


def _read_case(case: ET.Element) -> KitTest:
    properties = {item.get("name", ""): item.get("value", "") for item in case.iter("property")}
    failed = any(case.find(kind) is not None for kind in ("failure", "error"))
    skipped = case.find("skipped") is not None
    class_name = case.get("classname", "").rpartition(".")[2]
    return KitTest(
        name=f"{class_name}.{case.get('name', '')}",
        promise=properties.get("promise", ""),
        kit=properties.get("kit", ""),
        passed=None if skipped and not failed else not failed,
        seconds=float(case.get("time", "0")),
    )
