"""The page of faults names every fault that is promised, and only tests that exist."""

import re
from functools import cache

import pytest

from tests.fault_injection.coverage_table import EXPECTED_FAULT_NUMBERS, ROOT, fault_tests


@cache
def list_test_names(file):
    return set(re.findall(r"^ *(?:async )?def (test_\w+)", (ROOT / file).read_text(), re.MULTILINE))


def test_every_promised_fault_has_a_row():
    assert tuple(fault_tests()) == EXPECTED_FAULT_NUMBERS


@pytest.mark.parametrize("fault", EXPECTED_FAULT_NUMBERS)
def test_each_row_names_tests_that_exist(fault):
    found = fault_tests()[fault]
    assert found
    assert [(file, name) for file, name in found if name not in list_test_names(file)] == []
