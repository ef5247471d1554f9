"""Computes metrics of one sum of spend, in its own currency and by the definitions of the catalog."""

from service_core.analytics.query.catalog import Metric
from service_core.analytics.query.compute import (
    BaseMeasure,
    aggregation_of,
    compile_measure_zero_where_absent,
    iterate_counts_of_rows_making_sum_unknown,
    list_base_measures,
    round_to_json_number_by_unit,
)
from service_core.analytics.query.row_grid import aggregate_row
from service_core.commerce.ads.ports import SpendSum
from service_core.commerce.ads.source import spend_row_in_query_currency


def spend_metric_value(metric: Metric, sums: SpendSum) -> float | None:
    """Returns the value of a metric over one sum, rounded for JSON; None if it is unknown.

    Args:
        metric: uses `Relation.SPEND` only, such as ``cpc``.
        sums: rows of one currency, which is that of the result.
    """
    row, currency = spend_row_in_query_currency(sums), sums.currency
    measures = [aggregation_of(measure) for measure in list_base_measures(metric.measure)]
    used = [
        *measures,
        *(
            rows
            for measure in measures
            for rows, _ in iterate_counts_of_rows_making_sum_unknown(measure, currency)
        ),
    ]
    positions: dict[BaseMeasure, int] = {measure: position for position, measure in enumerate(used)}
    values = [aggregate_row(row, measure) for measure in used]
    return round_to_json_number_by_unit(
        compile_measure_zero_where_absent(metric.measure, positions, currency)(values), metric, currency
    )
