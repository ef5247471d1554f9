"""Run every test of the table of faults in full, in one go: ``python -m tests.faults [PYTEST OPTIONS]``."""

import os
import sys

import pytest

from tests.faults.progress import Progress
from tests.faults.table import ROOT, held_by

KITS = ("tests/conformance/test_queue_spool.py", "tests/conformance/test_queue_redis.py")
"""Where the tests of a kit run, which have no adapter of their own."""


def main() -> int:
    """The exit code of pytest."""
    os.environ["TOUCHPOINT_FAULTS"] = "full"
    named = {f"{file}::{name}" for tests in held_by().values() for file, name in tests}
    elsewhere = sorted(
        test for test in named if test.startswith("tests/") and not test.startswith("tests/faults/")
    )
    places = ["tests/faults", *KITS, *elsewhere]
    options = ["-q", "--rootdir", str(ROOT), "-o", "console_output_style=classic"]
    options += ["--timeout", "900", "-o", "faulthandler_timeout=1000"]
    return pytest.main([*options, *places, *sys.argv[1:]], plugins=[Progress()])


if __name__ == "__main__":
    sys.exit(main())
