"""The page on the size of a ClickHouse says what the model says, and the model what was measured."""

import re
from pathlib import Path

import pytest

from tests.bench.capacity_model import (
    APPEND_SECONDS,
    DERIVED_BYTES,
    EVENT_BYTES,
    READ_SECONDS,
    deployment_table_rows,
    estimate_needs,
)

PAGE = (Path(__file__).parents[2] / "docs" / "deployers" / "clickhouse-capacity.md").read_text()
MEASURED = re.findall(
    r"^\| (\w+) \| (\d+) million \| ([\d.]+) million \| ([\d.]+) s \| ([\d.]+) s \|$", PAGE, re.MULTILINE
)


@pytest.mark.parametrize("row", deployment_table_rows())
def test_capacity_table_matches_the_model(row):
    assert row in PAGE


def test_capacity_page_lists_the_constants():
    assert f"{EVENT_BYTES:.0f} for an event and {DERIVED_BYTES:.0f} for" in PAGE
    assert f"{APPEND_SECONDS * 1000:.2f} ms of a processor" in PAGE
    for kind, (has, reads) in READ_SECONDS.items():
        assert f"| {kind} | {has} s | {reads} s |" in PAGE


def test_capacity_page_lists_measurements_beside_estimates():
    assert {kind for kind, *_ in MEASURED} == set(READ_SECONDS)
    for kind, stored, read, measured, expected in MEASURED:
        own = int(stored) * 1_000_000 * 3 // 10  # that workspace has three of ten events
        predicted = estimate_needs(0, own, round(float(read) * 1_000_000), 1).seconds[kind]
        assert f"{predicted:.2f}" == expected
        assert 1 / 2 < predicted / float(measured) < 2, (kind, read)
