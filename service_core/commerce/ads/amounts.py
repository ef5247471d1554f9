"""What one sum of spend amounts to, in its own currency and by the definitions of the catalog."""

from service_core.commerce.ads.ports import SpendSum
from service_core.commerce.ads.source import added, as_row, is_met
from service_core.insight.catalog import Metric
from service_core.insight.query.formula import Atom, atoms, flaws, leaf_of, reader, rounded


def figure(metric: Metric, sums: SpendSum) -> float | None:
    """The JSON number of a metric of spend over one sum, rounded once; None for what is not known.

    Args:
        metric: of spend alone, such as ``cpc``.
        sums: its rows are of one currency, and the money of the metric is in that.
    """
    row, currency = as_row(sums), sums.currency
    leaves = [leaf_of(atom) for atom in atoms(metric.measure)]
    asked = [*leaves, *(rows for leaf in leaves for rows, _ in flaws(leaf, currency))]
    values = [added(None, leaf, row) if is_met(row, leaf.where) else 0 for leaf in asked]
    slots: dict[Atom, int] = {leaf: slot for slot, leaf in enumerate(asked)}
    return rounded(reader(metric.measure, slots, currency)(values), metric, currency)
