"""Run every test of the table of faults in full, in one go: ``python -m tests.fault_injection [PYTEST OPTIONS]``."""

import os
import sys

import pytest

from tests.fault_injection.coverage_table import ROOT, fault_tests
from tests.fault_injection.progress_report import ProgressReport

KITS = ("tests/conformance/test_queue_spool.py", "tests/conformance/test_queue_redis.py")
"""Where the tests of a kit run, which have no adapter of their own."""

MAX_SECONDS = 3_600
"""After this time no further test begins, and the run fails: a slow machine takes three times as long as a usual one."""


def main() -> int:
    """The exit code of pytest."""
    os.environ["TOUCHPOINT_FAULTS"] = "full"
    named = {f"{file}::{name}" for tests in fault_tests().values() for file, name in tests}
    elsewhere = sorted(
        test for test in named if test.startswith("tests/") and not test.startswith("tests/fault_injection/")
    )
    places = ["tests/fault_injection", *KITS, *elsewhere]
    options = ["-q", "--rootdir", str(ROOT), "-o", "console_output_style=classic"]
    options += ["--timeout", "900", "-o", "faulthandler_timeout=1000", "--session-timeout", str(MAX_SECONDS)]
    return pytest.main([*options, *places, *sys.argv[1:]], plugins=[ProgressReport()])


if __name__ == "__main__":
    sys.exit(main())
