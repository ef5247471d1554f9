"""Computes measures from aggregated values, exactly; rounding comes last."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import sub
from typing import Final, TypeAlias

from service_core.analytics.measures import (
    MISSING_FX_RATE,
    Aggregation,
    DailyMean,
    Difference,
    FilterOperator,
    Measure,
    Predicate,
    Ratio,
    Relation,
)
from service_core.analytics.query.catalog import Metric, MetricUnit
from service_core.analytics.query.relation_columns import is_in_millionths, is_money
from service_core.analytics.rounding import round_decimal
from service_core.kernel.availability import (
    Measured,
    Measurement,
    Number,
    Unavailable,
    UnavailableReason,
    combine_measurements,
)
from service_core.kernel.money import to_major

_RATE_MISSING: Final = Unavailable(UnavailableReason.MISSING_FX_RATE)
_CONVERTED_RELATIONS: Final = frozenset(
    {Relation.PAYMENTS, Relation.CREDITS, Relation.SPEND, Relation.SUBSCRIPTIONS}
)
"""Relations whose sources convert money to the currency of the scope."""

_MILLION: Final = 1_000_000
_DECIMALS: Final = {MetricUnit.SECONDS: 3}
_DEFAULT_DECIMALS: Final = 6

BaseMeasure: TypeAlias = Aggregation | DailyMean
"""A part of a measure that a source evaluates."""

RowValues: TypeAlias = Sequence[Number | None]
"""Values of the base measures in one row, by position; None for a mean over no day."""

MeasureFunction: TypeAlias = Callable[[RowValues], Measurement]
"""Returns the value of a measure in one row."""


def list_base_measures(measure: Measure) -> Iterator[BaseMeasure]:
    """Yields the parts of a measure that a source evaluates."""
    if isinstance(measure, Ratio):
        yield from (*list_base_measures(measure.numerator), *list_base_measures(measure.denominator))
    elif isinstance(measure, Difference):
        yield from (*list_base_measures(measure.minuend), *list_base_measures(measure.subtrahend))
    else:
        yield measure


def aggregation_of(base_measure: BaseMeasure) -> Aggregation:
    """Returns the aggregation of a base measure."""
    return base_measure.aggregation if isinstance(base_measure, DailyMean) else base_measure


def iterate_counts_of_rows_making_sum_unknown(
    aggregation: Aggregation, currency: str
) -> Iterator[tuple[Aggregation, Unavailable]]:
    """Yields counts of rows that make the sum of an aggregation unknown, each with the resulting value.

    For money these are rows in another currency without a rate; an amount of zero needs no rate. For any
    aggregation these are rows that lack the summed value.
    """
    if aggregation.unknown_if:
        yield (
            Aggregation(
                aggregation.relation,
                where=aggregation.unknown_if,
                use_default_attribution=aggregation.use_default_attribution,
            ),
            Unavailable(aggregation.unknown_reason),
        )
    if aggregation.column is not None and is_money(aggregation):
        foreign = (
            Predicate("currency", FilterOperator.IS_SET),
            Predicate("currency", FilterOperator.NEQ, currency),
        )
        money = (MISSING_FX_RATE,) if aggregation.relation in _CONVERTED_RELATIONS else foreign
        conditions = (*aggregation.where, *money, Predicate(aggregation.column, FilterOperator.NEQ, 0))
        yield (
            Aggregation(
                aggregation.relation,
                where=conditions,
                use_default_attribution=aggregation.use_default_attribution,
            ),
            _RATE_MISSING,
        )


def compile_measure_zero_where_absent(
    measure: Measure, positions: Mapping[BaseMeasure, int], currency: str
) -> MeasureFunction:
    """Returns a function that computes a measure; a base measure without a position is 0, as no row meets its conditions.

    A sum over money in another currency without a rate is unavailable, never partial.
    """
    if isinstance(measure, Difference):
        return _compile_binary(sub, measure.minuend, measure.subtrahend, positions, currency)
    if isinstance(measure, Ratio):
        return _compile_binary(
            _division_or_none_by_zero(measure), measure.numerator, measure.denominator, positions, currency
        )
    position = positions.get(measure)
    if position is None:
        empty = Measured(None if isinstance(measure, DailyMean) else 0)
        return lambda _: empty
    if isinstance(measure, DailyMean):
        return lambda values: Measured(values[position])
    return _compile_sum_unless_incomplete(measure, position, positions, currency)


def _compile_sum_unless_incomplete(
    aggregation: Aggregation, position: int, positions: Mapping[BaseMeasure, int], currency: str
) -> MeasureFunction:
    incompleteness_counts = [
        (positions[count], unknown)
        for count, unknown in iterate_counts_of_rows_making_sum_unknown(aggregation, currency)
    ]
    scale = _MILLION if is_in_millionths(aggregation) else 1

    def read_sum_or_unavailable(values: RowValues) -> Measurement:
        for count_position, unknown in incompleteness_counts:
            if values[count_position]:
                return unknown
        value = values[position]
        return Measured(value if scale == 1 else Fraction(value or 0) / scale)

    return read_sum_or_unavailable


def _compile_binary(
    operator: Callable[[Number, Number], Number | None],
    left: Measure,
    right: Measure,
    positions: Mapping[BaseMeasure, int],
    currency: str,
) -> MeasureFunction:
    first, second = (
        compile_measure_zero_where_absent(left, positions, currency),
        compile_measure_zero_where_absent(right, positions, currency),
    )
    return lambda values: combine_measurements(operator, first(values), second(values))


def _division_or_none_by_zero(ratio: Ratio) -> Callable[[Number, Number], Number | None]:
    def divide(numerator: Number, denominator: Number) -> Number | None:
        if denominator == 0:
            return None
        value = Fraction(numerator) / Fraction(denominator)
        return 1 - value if ratio.complement else value * ratio.scale

    return divide


def round_to_json_number_by_unit(measurement: Measurement, metric: Metric, currency: str) -> float | None:
    """Returns the JSON number of a value, rounded half-even once; None if it is unknown."""
    if isinstance(measurement, Unavailable) or measurement.value is None:
        return None
    value = measurement.value
    if metric.unit is MetricUnit.COUNT and isinstance(value, int):
        return value
    if metric.unit in (MetricUnit.CURRENCY, MetricUnit.CURRENCY_PER_UNIT):
        return float(to_major(round(value), currency))
    if metric.unit is MetricUnit.COUNT and Fraction(value).denominator == 1:
        return int(value)
    return float(round_decimal(value, _DECIMALS.get(metric.unit, _DEFAULT_DECIMALS)))
