"""The table of faults: which tests hold which."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "contributors" / "fault-injection.md"
EXPECTED_FAULT_NUMBERS: Final = (*range(1, 19), 20, 21, 22, 23, 24, 27)

_ROW = re.compile(r"^\| F(\d+) \|(.*)$", re.MULTILINE)
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


def fault_tests() -> Mapping[int, list[tuple[str, str]]]:
    """Number of a fault -> file and name of each test that holds it."""
    return {int(number): _TEST.findall(row) for number, row in _ROW.findall(PAGE.read_text())}
