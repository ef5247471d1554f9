"""The page of faults names every fault that is promised, and only tests that exist."""

import re
from functools import cache

import pytest

from tests.fault_injection.coverage_table import PROMISED, ROOT, fault_tests


@cache
def names_in(file):
    return set(re.findall(r"^ *(?:async )?def (test_\w+)", (ROOT / file).read_text(), re.MULTILINE))


def test_every_promised_fault_has_a_row():
    assert tuple(fault_tests()) == PROMISED


@pytest.mark.parametrize("fault", PROMISED)
def test_each_row_names_tests_that_exist(fault):
    found = fault_tests()[fault]
    assert found
    assert [(file, name) for file, name in found if name not in names_in(file)] == []
