"""Evaluates costs for queries: sold quantities from the event store times the cost of each item."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

from service_core.access.models import Workspace
from service_core.analytics.freshness import QueueStateReader, get_events_complete_through
from service_core.analytics.fx.convert import REFUND_LOOK_BACK
from service_core.analytics.fx.rate_lookup import RateLookup
from service_core.analytics.line_items.ports import LineItemQuery, LineItemReader, LineItemSum
from service_core.analytics.measures import Relation
from service_core.analytics.ports import AggregateQuery, AggregateResult, QueryScope, StoreUnavailable
from service_core.analytics.query.row_grid import Row, RowGrid
from service_core.analytics.query.sources import SourceState
from service_core.commerce.costs.models import MILLION, CostTable
from service_core.commerce.costs.ports import ItemCostStore
from service_core.kernel.availability import UnavailableReason
from service_core.kernel.exchange_rates import ExchangeRates
from service_core.kernel.money import to_major
from service_core.kernel.time_ranges import Buckets, ResolvedRange


@dataclass(frozen=True, slots=True)
class CostSource:
    """Evaluates aggregations over `Relation.COSTS`.

    A cost in another currency than that of a scan is turned into it by the rate of the day of sale. For that
    sales are grouped by day, as far back as refunds are looked for.
    """

    items: LineItemReader
    store: ItemCostStore
    queue: QueueStateReader
    exchange: RateLookup

    @property
    def relations(self) -> frozenset[Relation]:
        """Returns the relation of costs."""
        return frozenset({Relation.COSTS})

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Returns the aggregations. Unknown values add nothing; the query layer counts them separately.

        Raises:
            StoreUnavailable: costs or items cannot be read.
        """
        grid = RowGrid(query, Relation.COSTS)
        for item_sum, row in await self._load_cost_rows(query.scope, query.buckets):
            grid.add_row_if_counted(row, item_sum.bucket)
        return grid.to_result_with_zero_row_if_ungrouped()

    async def share_of_sales_with_unit_cost(self, scope: QueryScope) -> Fraction | None:
        """Returns the share of sales that has a unit cost, by price before discounts; None if it is unknown or nothing was sold.

        Unless everything has a cost, the share needs a price of every item, all in one currency.

        Raises:
            StoreUnavailable: costs or items cannot be read.
        """
        sold = [
            (item_sum, row)
            for item_sum, row in await self._load_cost_rows(scope, None)
            if item_sum.quantity > 0
        ]
        covered = [item_sum for item_sum, row in sold if row["cogs"] is not None]
        if sold and len(covered) == len(sold):
            return Fraction(1)
        if (
            any(item_sum.lines_without_price for item_sum, _ in sold)
            or len({item_sum.currency for item_sum, _ in sold}) > 1
        ):
            return None
        whole = sum((_price_before_discounts(item_sum) for item_sum, _ in sold), Fraction(0))
        return sum(map(_price_before_discounts, covered), Fraction(0)) / whole if whole else None

    async def read_state(self, workspace: Workspace, now: datetime) -> SourceState:
        """Returns the state: available once costs were imported."""
        try:
            known = await self.store.has_costs(workspace.id)
        except StoreUnavailable:
            return SourceState(now, {Relation.COSTS: UnavailableReason.SOURCE_ERROR})
        reasons = {} if known else {Relation.COSTS: UnavailableReason.NO_COST_DATA}
        return SourceState(await get_events_complete_through(self.queue, now), reasons)

    async def _load_cost_rows(
        self, scope: QueryScope, buckets: Buckets | None
    ) -> list[tuple[LineItemSum, Row]]:
        costs = await self.store.list_costs(scope.workspace_id)
        days = ResolvedRange(scope.span, ZoneInfo(scope.zone), scope.span.start)
        foreign = {cost.currency for cost in costs} - {scope.currency}
        rates = await self.exchange.stored_rates_or_empty_without_source(
            scope.currency, foreign, days, look_back=REFUND_LOOK_BACK
        )
        first = days.first_day - REFUND_LOOK_BACK
        rated = (days.last_day - first).days + 1 if foreign else 0
        table = CostTable(costs, days.zone, [first + timedelta(days=number) for number in range(rated)])
        item_sums = await self.items.sum_line_items(LineItemQuery(scope, table.period_starts, buckets))
        return [
            (item_sum, _cost_row_converted_if_rated(item_sum, table, rates, first)) for item_sum in item_sums
        ]


def _price_before_discounts(sold: LineItemSum) -> Fraction:
    """Returns the price before discounts in major units of its currency."""
    if sold.is_listed:
        return Fraction(sold.amount, MILLION)
    return Fraction(to_major(sold.amount, sold.currency or ""))


def _cost_row_converted_if_rated(
    sold: LineItemSum, table: CostTable, rates: ExchangeRates, first_rated_day: date
) -> Row:
    """Returns a row of costs, converted if there is a rate for the day of sale."""
    cost = table.cost_by_sku_else_variant(sold.sku, sold.variant_id, sold.period)
    goods, handling = (
        (cost.cost_of_goods(sold.quantity), cost.cost_of_handling(sold.quantity)) if cost else (None, None)
    )
    day = table.period_start_day(sold.period) if cost else first_rated_day
    rate = (
        rates.minor_unit_rate_up_to_7_days_old(day, cost.currency)
        if cost and (day >= first_rated_day or cost.currency == rates.target_currency)
        else None
    )
    return {
        "product": sold.sku or sold.variant_id,
        "provider": sold.provider,
        "sold_in": sold.currency,
        "currency": rates.target_currency if rate is not None else cost and cost.currency,
        "cogs": _convert_cost_if_rated(goods, rate),
        "shipping_costs": _convert_cost_if_rated(handling, rate),
    }


def _convert_cost_if_rated(cost: Fraction | None, rate: Fraction | None) -> Fraction | None:
    return cost if cost is None or rate is None else cost * rate
