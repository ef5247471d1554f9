"""Formulas of metrics: how a value follows from its terms, and what each term counts, in words that stay the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from service_core.analytics.measures import (
    Aggregation,
    Condition,
    DailyMean,
    Difference,
    Measure,
    NotAll,
    Predicate,
    Ratio,
)
from service_core.analytics.query.catalog import Catalog, Metric
from service_core.analytics.query.compute import BaseMeasure, aggregation_of, list_base_measures


@dataclass(frozen=True, slots=True)
class Formula:
    """How the value of a metric follows from its terms.

    Attributes:
        text: an expression of the names of terms with ``+ - * /`` and parentheses.
        terms: name of a term -> what it counts.
    """

    text: str
    terms: Mapping[str, BaseMeasure]


def formula_of_metric(metric: Metric, catalog: Catalog) -> Formula:
    """Returns the formula of a metric; a term that is a metric of the catalog has its id."""
    base_measures = tuple(dict.fromkeys(list_base_measures(metric.measure)))
    id_by_measure: dict[Measure, str] = {}
    for other in (*catalog.metrics.values(), metric):
        if isinstance(other.measure, Aggregation | DailyMean):
            id_by_measure[other.measure] = other.id
    names: dict[BaseMeasure, str] = {}
    for base in base_measures:
        name = id_by_measure.get(base) or _name_of_aggregation(aggregation_of(base))
        names[base] = _with_number_if_taken(name, names.values())
    return Formula(_render_expression(metric.measure, names), {name: base for base, name in names.items()})


def describe_base_measure(base: BaseMeasure) -> str:
    """Returns what a term counts, with every condition: ``count distinct visitor_id of events where from_device = true``."""
    if isinstance(base, DailyMean):
        return f"mean over full days of ({describe_base_measure(base.aggregation)})"
    column = "" if base.column is None else f" {base.column}"
    kind = "count distinct" if base.distinct else "count" if base.column is None else "sum"
    parts = [f"{kind}{column} of {base.relation}"]
    if base.where:
        parts.append(f"where {' and '.join(map(_describe_condition, base.where))}")
    if base.unknown_if:
        parts.append(f"unknown if {' and '.join(map(_describe_condition, base.unknown_if))}")
    if base.trailing_days is not None:
        parts.append(f"in the last {base.trailing_days} local days")
    if base.elapsed_days is not None:
        parts.append(f"{base.elapsed_days} days or more ago")
    if base.use_default_attribution:
        parts.append("by the default attribution")
    if base.use_builtin_conversions:
        parts.append("by the built-in conversions")
    if base.non_additive_dimension is not None:
        parts.append(f"for one {base.non_additive_dimension}")
    return " ".join(parts)


def describe_formula(metric: Metric, catalog: Catalog) -> str:
    """Returns the formula with what each term counts, in one text: a change of it needs a higher `Metric.version`."""
    formula = formula_of_metric(metric, catalog)
    terms = "; ".join(f"{name}: {describe_base_measure(base)}" for name, base in formula.terms.items())
    return f"{formula.text} [{metric.unit}] with {terms}"


def _render_expression(
    measure: Measure, names: Mapping[BaseMeasure, str], *, is_operand: bool = False
) -> str:
    """Returns a measure as an expression; an operand that is one itself is in parentheses."""
    if isinstance(measure, Difference):
        text = f"{_render_expression(measure.minuend, names)} - {_render_expression(measure.subtrahend, names, is_operand=True)}"
        return f"({text})" if is_operand else text
    if isinstance(measure, Ratio):
        above, below = (
            _render_expression(part, names, is_operand=True)
            for part in (measure.numerator, measure.denominator)
        )
        scaled = f"{above} / {below}" if measure.scale == 1 else f"{measure.scale} * {above} / {below}"
        text = f"1 - {scaled}" if measure.complement else scaled
        return f"({text})" if is_operand else text
    return names[measure]


def _name_of_aggregation(aggregation: Aggregation) -> str:
    counted = "rows" if aggregation.column is None else aggregation.column.name.replace(".", "_")
    return f"{aggregation.relation}_{counted}"


def _with_number_if_taken(name: str, used: Iterable[str]) -> str:
    """Returns the name, with a number behind it if another term has it."""
    taken, candidate, number = set(used), name, 2
    while candidate in taken:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def _describe_condition(condition: Condition) -> str:
    if isinstance(condition, NotAll):
        return f"not ({' and '.join(map(_describe_predicate, condition.conditions))})"
    return _describe_predicate(condition)


def _describe_predicate(predicate: Predicate) -> str:
    value = predicate.value
    if value is None:
        return f"{predicate.column} {predicate.op}"
    listed = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
    return f"{predicate.column} {predicate.op} {listed}"
