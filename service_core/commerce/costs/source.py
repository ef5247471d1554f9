"""Costs as a source of the query layer: items counted by the event store, times what they cost (semantics 17)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from service_core.access.model import Workspace
from service_core.commerce.costs.model import MILLION, CostTable
from service_core.commerce.costs.ports import CostStore
from service_core.insight.freshness import Queue, data_through
from service_core.insight.fx.exchange import Exchange
from service_core.insight.fx.rated import REFUNDED
from service_core.insight.items.ports import ItemPlan, Items, ItemSum
from service_core.insight.measures import Leaf, Predicate, Relation
from service_core.insight.ports import Aggregate, Grid, Scan, StoreUnavailable
from service_core.insight.predicates import meets
from service_core.insight.query.sources import SourceState
from service_core.kernel.money import to_major
from service_core.kernel.ranges import Buckets, Range
from service_core.kernel.rates import Rates
from service_core.kernel.reading import Reason

Row: TypeAlias = Mapping[str, Any]
"""A row of `Relation.COSTS`."""

Cell: TypeAlias = tuple[Any, ...]
"""Bucket, if bucketed, and dimension values."""


@dataclass(frozen=True, slots=True)
class CostSource:
    """Evaluates leaves over `Relation.COSTS`.

    A cost in another currency than that of a scan is turned into it by the rate of the day of sale. For that
    sales are told apart by day, as far back as refunds are looked for.
    """

    items: Items
    store: CostStore
    queue: Queue
    exchange: Exchange

    @property
    def relations(self) -> frozenset[Relation]:
        """Costs alone."""
        return frozenset({Relation.COSTS})

    async def aggregate(self, plan: Aggregate) -> Grid:
        """Evaluate measures; what is not known of a row adds nothing, and the query layer asks for that.

        Raises:
            StoreUnavailable: costs or items cannot be read.
        """
        rows = await self._rows(plan.scan, plan.buckets)
        return _grid(plan, [(each.bucket, row) for each, row in rows])

    async def covered_share(self, scan: Scan) -> Fraction | None:
        """How much of what was sold has a unit cost, by its price before discounts; None where nobody knows.

        Where not everything has one, all has to be priced, and in one currency. Of nothing there is no share.

        Raises:
            StoreUnavailable: costs or items cannot be read.
        """
        sold = [(each, row) for each, row in await self._rows(scan, None) if each.quantity > 0]
        covered = [each for each, row in sold if row["cogs"] is not None]
        if sold and len(covered) == len(sold):
            return Fraction(1)
        if any(each.unpriced for each, _ in sold) or len({each.currency for each, _ in sold}) > 1:
            return None
        whole = sum((_price(each) for each, _ in sold), Fraction(0))
        return sum(map(_price, covered), Fraction(0)) / whole if whole else None

    async def state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Measured from the first import on; what the table lacks makes single values unknown (semantics 19.1)."""
        try:
            known = await self.store.has_costs(workspace.id)
        except StoreUnavailable:
            return SourceState(now, {Relation.COSTS: Reason.SOURCE_ERROR})
        reasons = {} if known else {Relation.COSTS: Reason.NO_COST_DATA}
        return SourceState(await data_through(self.queue, now), reasons)

    async def _rows(self, scan: Scan, buckets: Buckets | None) -> list[tuple[ItemSum, Row]]:
        costs = await self.store.costs(scan.workspace_id)
        days = Range(scan.span, ZoneInfo(scan.zone), scan.span.start)
        foreign = {cost.currency for cost in costs} - {scan.currency}
        rates = await self.exchange.rates(scan.currency, foreign, days, look_back=REFUNDED)
        first = days.first_day - REFUNDED
        rated = (days.last_day - first).days + 1 if foreign else 0
        table = CostTable(costs, days.zone, [first + timedelta(days=number) for number in range(rated)])
        found = await self.items.items(ItemPlan(scan, table.edges, buckets))
        return [(each, _row(each, table, rates, first)) for each in found]


def _price(sold: ItemSum) -> Fraction:
    """Major units of whatever currency."""
    if sold.is_listed:
        return Fraction(sold.worth, MILLION)
    return Fraction(to_major(sold.worth, sold.currency or ""))


def _row(sold: ItemSum, table: CostTable, rates: Rates, first: date) -> Row:
    """A row, in the currency of the rates where there is one for the day of sale."""
    cost = table.cost(sold.sku, sold.variant_id, sold.period)
    goods, handling = (
        (cost.of_goods(sold.quantity), cost.of_handling(sold.quantity)) if cost else (None, None)
    )
    day = table.day(sold.period) if cost else first
    rate = rates.on(day, cost.currency) if cost and (day >= first or cost.currency == rates.to) else None
    return {
        "provider": sold.provider,
        "sold_in": sold.currency,
        "currency": rates.to if rate is not None else cost and cost.currency,
        "cogs": _worth(goods, rate),
        "shipping_costs": _worth(handling, rate),
    }


def _worth(cost: Fraction | None, rate: Fraction | None) -> Fraction | None:
    return cost if cost is None or rate is None else cost * rate


def _grid(plan: Aggregate, rows: Iterable[tuple[datetime | None, Row]]) -> Grid:
    leaves = tuple(dict.fromkeys(leaf for measure in plan.measures for leaf in measure.leaves()))
    grouped = tuple(columns[Relation.COSTS] for columns in plan.dimensions)
    cells: dict[Cell, list[Any]] = {}
    for bucket, row in rows:
        met = [_meets(row, (*plan.scan.filters, *leaf.where)) for leaf in leaves]
        if any(met):
            lead = (bucket,) if plan.buckets else ()
            cell = cells.setdefault((*lead, *(row[column] for column in grouped)), [0] * len(leaves))
            for place, leaf in enumerate(leaves):
                cell[place] += _added(leaf, row) if met[place] else 0
    if not cells and not plan.buckets and not grouped:
        cells[()] = [0] * len(leaves)
    sums = tuple(sum(values[place] for values in cells.values()) for place in range(len(leaves)))
    return Grid([(*cell, *values) for cell, values in cells.items()], leaves, len(cells), sums)


def _meets(row: Row, conditions: Sequence[Predicate]) -> bool:
    return all(meets(_compared(row[each.column]), each.op, each.value) for each in conditions)


def _compared(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value


def _added(leaf: Leaf, row: Row) -> Fraction | int:
    return 1 if leaf.column is None else row[leaf.column] or 0
