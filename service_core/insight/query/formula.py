"""Composites from leaf values, exactly: rounding comes last (semantics 17, contract 2.8)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from operator import sub
from typing import Final, TypeAlias

from service_core.insight.catalog import Metric, MetricUnit
from service_core.insight.columns import in_millionths, is_money
from service_core.insight.measures import (
    NO_RATE,
    DailyMean,
    Difference,
    Leaf,
    Measure,
    Op,
    Predicate,
    Ratio,
    Relation,
)
from service_core.insight.rounding import decimal
from service_core.kernel.money import to_major
from service_core.kernel.reading import Measured, Number, Reading, Reason, Unavailable, combine

_MISSING_RATE: Final = Unavailable(Reason.MISSING_FX_RATE)
_LEFT_OUT: Final = Unavailable(Reason.INSUFFICIENT_DATA)
_RATED: Final = frozenset({Relation.MONEY, Relation.CREDITS, Relation.SPEND, Relation.SUBSCRIPTIONS})
"""Whose sources turn money of other currencies into that of a scan."""

_MILLION: Final = 1_000_000
_DECIMALS: Final = {MetricUnit.SECONDS: 3}
_USUAL_DECIMALS: Final = 6

Atom: TypeAlias = Leaf | DailyMean
"""A part of a measure that a source is asked for."""

Values: TypeAlias = Sequence[Number | None]
"""What was found for the atoms of one row, each in its slot; None for a mean over no day."""

Reader: TypeAlias = Callable[[Values], Reading]
"""The value of a measure in one row."""


def atoms(measure: Measure) -> Iterator[Atom]:
    """The parts of a measure that a source is asked for."""
    if isinstance(measure, Ratio):
        yield from (*atoms(measure.numerator), *atoms(measure.denominator))
    elif isinstance(measure, Difference):
        yield from (*atoms(measure.minuend), *atoms(measure.subtrahend))
    else:
        yield measure


def leaf_of(atom: Atom) -> Leaf:
    """The leaf an atom is made of."""
    return atom.leaf if isinstance(atom, DailyMean) else atom


def flaws(leaf: Leaf, currency: str) -> Iterator[tuple[Leaf, Unavailable]]:
    """Counts of rows of which one makes the sum of a leaf unknown, each with what it is then.

    Of money, those in another currency that no rate turns into that asked for; nothing is nothing in every
    currency: an order of no value needs no rate. Of any, those that tell nothing of what is summed.
    """
    if leaf.gapped_by:
        yield Leaf(leaf.of, where=leaf.gapped_by, by_default=leaf.by_default), _LEFT_OUT
    if is_money(leaf):
        foreign = Predicate("currency", Op.IS_SET), Predicate("currency", Op.NEQ, currency)
        money = (NO_RATE,) if leaf.of in _RATED else foreign
        conditions = (*leaf.where, *money, Predicate(str(leaf.column), Op.NEQ, 0))
        yield Leaf(leaf.of, where=conditions, by_default=leaf.by_default), _MISSING_RATE


def reader(measure: Measure, slots: Mapping[Atom, int], currency: str) -> Reader:
    """How to compute a measure; an atom without a slot is 0, as no row meets its conditions.

    Sums over money in a foreign currency are unavailable without a rate, never partial (semantics 10.7).
    """
    if isinstance(measure, Difference):
        return _combined(sub, measure.minuend, measure.subtrahend, slots, currency)
    if isinstance(measure, Ratio):
        return _combined(_quotient(measure), measure.numerator, measure.denominator, slots, currency)
    slot = slots.get(measure)
    if slot is None:
        nothing = Measured(None if isinstance(measure, DailyMean) else 0)
        return lambda _: nothing
    if isinstance(measure, DailyMean):
        return lambda values: Measured(values[slot])
    return _of_leaf(measure, slot, slots, currency)


def _of_leaf(leaf: Leaf, slot: int, slots: Mapping[Atom, int], currency: str) -> Reader:
    flawed = [(slots[rows], unknown) for rows, unknown in flaws(leaf, currency)]
    scale = _MILLION if in_millionths(leaf) else 1

    def read(values: Values) -> Reading:
        for rows, unknown in flawed:
            if values[rows]:
                return unknown
        found = values[slot]
        return Measured(found if scale == 1 else Fraction(found or 0) / scale)

    return read


def _combined(
    how: Callable[[Number, Number], Number | None],
    left: Measure,
    right: Measure,
    slots: Mapping[Atom, int],
    currency: str,
) -> Reader:
    first, second = reader(left, slots, currency), reader(right, slots, currency)
    return lambda values: combine(how, first(values), second(values))


def _quotient(ratio: Ratio) -> Callable[[Number, Number], Number | None]:
    def divide(numerator: Number, denominator: Number) -> Number | None:
        if denominator == 0:
            return None
        value = Fraction(numerator) / Fraction(denominator)
        return 1 - value if ratio.complement else value * ratio.scale

    return divide


def rounded(reading: Reading, metric: Metric, currency: str) -> float | None:
    """The JSON number of a reading, rounded half-even once; None for what is not known."""
    if isinstance(reading, Unavailable) or reading.value is None:
        return None
    value = reading.value
    if metric.unit is MetricUnit.COUNT and isinstance(value, int):
        return value
    if metric.unit in (MetricUnit.CURRENCY, MetricUnit.CURRENCY_PER_UNIT):
        return float(to_major(round(value), currency))
    if metric.unit is MetricUnit.COUNT and Fraction(value).denominator == 1:
        return int(value)
    return float(decimal(value, _DECIMALS.get(metric.unit, _USUAL_DECIMALS)))
