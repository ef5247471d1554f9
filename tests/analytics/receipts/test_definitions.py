"""Definitions of metrics: the formulas of every version are recorded, so that none changes without a new version.

``python -m tests.analytics.receipts.test_definitions`` records the present ones, after `Metric.version` was raised.
"""

import json
from pathlib import Path

from service_core.analytics.metrics.core_metrics import CORE_METRICS
from service_core.analytics.metrics.dimensions import CORE_DIMENSIONS
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.formula import describe_formula

RECORDED = Path(__file__).with_name("definitions.json")
CATALOG = Catalog.from_validated_definitions(CORE_METRICS, CORE_DIMENSIONS)


def present_definitions():
    return {
        metric.id: {"version": metric.version, "formula": describe_formula(metric, CATALOG)}
        for metric in CORE_METRICS
    }


def test_changed_formula_has_a_higher_version():
    recorded, present = json.loads(RECORDED.read_text()), present_definitions()
    unraised = [
        id_
        for id_, definition in present.items()
        if id_ in recorded
        and definition["formula"] != recorded[id_]["formula"]
        and definition["version"] <= recorded[id_]["version"]
    ]
    assert unraised == [], "raise the version of these metrics: their formula changed"


def test_recorded_definitions_are_those_of_the_catalog():
    assert json.loads(RECORDED.read_text()) == present_definitions(), f"run python -m {__spec__.name}"


def test_formulas_differ_where_measures_do():
    by_formula = {}
    for metric in CORE_METRICS:
        by_formula.setdefault(describe_formula(metric, CATALOG), set()).add(metric.measure)
    assert all(len(measures) == 1 for measures in by_formula.values())


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(present_definitions(), indent=2) + "\n")
