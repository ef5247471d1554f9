"""What one sum of spend amounts to, in its own currency and by the definitions of the catalog."""

from service_core.analytics.query.catalog import Metric
from service_core.analytics.query.compute import (
    BaseMeasure,
    aggregation_of,
    compile_measure,
    list_base_measures,
    list_incompleteness_counts,
    round_for_unit,
)
from service_core.commerce.ads.ports import SpendSum
from service_core.commerce.ads.source import added, as_row, is_met


def spend_metric_value(metric: Metric, sums: SpendSum) -> float | None:
    """The JSON number of a metric of spend over one sum, rounded once; None for what is not known.

    Args:
        metric: of spend alone, such as ``cpc``.
        sums: its rows are of one currency, and the money of the metric is in that.
    """
    row, currency = as_row(sums), sums.currency
    leaves = [aggregation_of(atom) for atom in list_base_measures(metric.measure)]
    asked = [*leaves, *(rows for leaf in leaves for rows, _ in list_incompleteness_counts(leaf, currency))]
    values = [added(None, leaf, row) if is_met(row, leaf.where) else 0 for leaf in asked]
    slots: dict[BaseMeasure, int] = {leaf: slot for slot, leaf in enumerate(asked)}
    return round_for_unit(compile_measure(metric.measure, slots, currency)(values), metric, currency)
