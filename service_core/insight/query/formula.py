"""Composites from leaf values, exactly: rounding comes last (semantics 17, contract 2.8)."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Final

from service_core.insight.catalog import Metric, MetricUnit
from service_core.insight.measures import DailyMean, Difference, Leaf, Measure, Op, Predicate, Ratio, Relation
from service_core.insight.rounding import decimal
from service_core.kernel.money import to_major
from service_core.kernel.reading import Measured, Number, Reading, Reason, Unavailable, combine

_MONEY_COLUMNS: Final = frozenset({"amount", "refunded"})
_MILLION: Final = 1_000_000
_DECIMALS: Final = {MetricUnit.SECONDS: 3}
_USUAL_DECIMALS: Final = 6

Values = Mapping[Leaf | DailyMean, Number]
"""What the sources found for one row; a leaf nobody found anything for is 0."""


def atoms(measure: Measure) -> Iterator[Leaf | DailyMean]:
    """The parts of a measure that a source is asked for."""
    if isinstance(measure, Ratio):
        yield from (*atoms(measure.numerator), *atoms(measure.denominator))
    elif isinstance(measure, Difference):
        yield from (*atoms(measure.minuend), *atoms(measure.subtrahend))
    else:
        yield measure


def leaf_of(atom: Leaf | DailyMean) -> Leaf:
    """The leaf an atom is made of."""
    return atom.leaf if isinstance(atom, DailyMean) else atom


def foreign(leaf: Leaf, currency: str) -> Leaf | None:
    """How many of the rows a money leaf sums are in another currency; None for other leaves."""
    if leaf.column not in _MONEY_COLUMNS:
        return None
    conditions = Predicate("currency", Op.IS_SET), Predicate("currency", Op.NEQ, currency)
    return Leaf(leaf.of, where=(*leaf.where, *conditions))


def read(measure: Measure, values: Values, currency: str) -> Reading:
    """The value of a measure in one row.

    Sums over money in a foreign currency are unavailable without a rate, never partial (semantics 10.7).
    """
    if isinstance(measure, Difference):
        return combine(
            lambda a, b: a - b,
            read(measure.minuend, values, currency),
            read(measure.subtrahend, values, currency),
        )
    if isinstance(measure, Ratio):
        parts = read(measure.numerator, values, currency), read(measure.denominator, values, currency)
        return combine(_quotient(measure), *parts)
    if isinstance(measure, DailyMean):
        return Measured(values.get(measure))
    others = foreign(measure, currency)
    if others is not None and values.get(others):
        return Unavailable(Reason.MISSING_FX_RATE)
    return Measured(_scaled(measure, values.get(measure, 0)))


def _quotient(ratio: Ratio) -> Callable[[Number, Number], Number | None]:
    def divide(numerator: Number, denominator: Number) -> Number | None:
        if denominator == 0:
            return None
        value = Fraction(numerator) / Fraction(denominator)
        return 1 - value if ratio.complement else value * ratio.scale

    return divide


def _scaled(leaf: Leaf, value: Number) -> Number:
    """Credits are counted in millionths of a conversion."""
    return Fraction(value) / _MILLION if (leaf.of, leaf.column) == (Relation.CREDITS, "credit") else value


def rounded(reading: Reading, metric: Metric, currency: str) -> float | None:
    """The JSON number of a reading, rounded half-even once; None for what is not known."""
    if isinstance(reading, Unavailable) or reading.value is None:
        return None
    value = reading.value
    if metric.unit in (MetricUnit.CURRENCY, MetricUnit.CURRENCY_PER_UNIT):
        return float(to_major(round(value), currency))
    if metric.unit is MetricUnit.COUNT and Fraction(value).denominator == 1:
        return int(value)
    return float(decimal(value, _DECIMALS.get(metric.unit, _USUAL_DECIMALS)))
