"""`GET /commerce-metrics`: revenue, ad spend, costs and profit, and how complete each part is."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels, AttributionSettings
from service_core.analytics.attribution.resolve_model import credit_rule_or_last_touch_with_model_id
from service_core.analytics.connections.models import Connection, ProviderKind
from service_core.analytics.connections.ports import Connections
from service_core.analytics.connections.providers import InstalledProviders
from service_core.analytics.measures import Relation
from service_core.analytics.ports import QueryScope, StoreUnavailable
from service_core.analytics.query.compute import round_to_json_number_by_unit
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.sources import SourceState, SourceUnavailable
from service_core.analytics.query.unmeasured_platforms import (
    list_unavailable_metric_per_platform_without_spend,
)
from service_core.analytics.reads.metric_values import list_unavailable_with_reasons
from service_core.analytics.rounding import round_decimal
from service_core.analytics.scope import scope_for_caller
from service_core.commerce.ads.source import synced_through
from service_core.commerce.costs.source import CostSource
from service_core.commerce.error_reasons import add_code_as_reason
from service_core.commerce.profit.schemas import (
    CommerceMetrics,
    CommerceMetricsQuery,
    Completeness,
    CostsCompleteness,
    PlatformCompleteness,
    RevenueCompleteness,
    SpendCompleteness,
)
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.availability import Measured, Measurement, Unavailable, UnavailableReason
from service_core.kernel.errors import ServiceUnavailable
from service_core.kernel.operations import operation
from service_core.kernel.time_ranges import ResolvedRange

_REVENUE: Final = (
    "gross_revenue", "discounts", "revenue", "refunds", "net_revenue", "shipping", "taxes", "fees", "orders",
    "aov", "new_customers",
)  # fmt: skip
_SPEND: Final = ("ad_spend",)
_COSTS: Final = ("cogs", "shipping_costs")
_PARTS: Final = {"revenue": _REVENUE, "spend": _SPEND, "costs": _COSTS}
"""Part of the answer -> the metrics that are known when it is."""

_METRICS: Final = (*_REVENUE, *_SPEND, *_COSTS, "profit", "margin", "roas", "platform_roas", "mer", "cac")
_FIELDS: Final = {id_: "spend" if id_ == "ad_spend" else id_ for id_ in _METRICS}
"""Metric -> the field that has its value."""

SHARE_DECIMALS: Final = 6
_PART_BY_RELATION: Final = {Relation.SPEND: "spend", Relation.COSTS: "costs"}
"""Metrics of neither are revenue, or follow from it."""


_UNVERIFIED_CODES: Final = {
    "revenue": "revenue_unverified",
    "spend": "spend_unverified",
    "costs": "costs_unverified",
}
"""Part of the answer to the error code when it cannot be read."""


class PartUnverified(ServiceUnavailable):
    """The source of a part of the answer cannot be read: its values are unknown, never zero."""

    def __init__(self, part: str) -> None:
        super().__init__(f"The {part} of the range cannot be verified at the moment", _UNVERIFIED_CODES[part])


@operation("GET /commerce-metrics", tag="marketing", map_error=add_code_as_reason, is_aggregate=True)
async def get_commerce_metrics(
    query: CommerceMetricsQuery,
    *,
    caller: Caller,
    queries: MetricQueries,
    models: AttributionModels,
    connections: Connections,
    costs: CostSource,
    providers: InstalledProviders,
) -> CommerceMetrics:
    """Revenue, ad spend, profit, margin, ROAS and MER over hours of UTC, and how far each part is known.

    Null is what is not known: the part it is of is not complete then. What is connected and cannot be read
    is refused, never left out of a sum.
    """
    date_range = query.resolve_range_or_default(caller)
    attribution = AttributionSettings.workspace_default(caller.workspace)
    metric_query = MetricQuery(
        _METRICS,
        date_range,
        default_credit_rule=credit_rule_or_last_touch_with_model_id(models, attribution),
        book_refunds_at_order=query.refund_basis == "order",
        include_bots=query.include_bots,
    )
    try:
        snapshot = await queries.read_source_states_once(caller, _METRICS)
        table, known, unmeasured = await gather_or_cancel(
            queries.execute_marking_unfit_credits_unavailable(caller, metric_query, snapshot),
            connections.list_connections_oldest_first(caller.workspace.id),
            queries.list_platforms_with_touches_but_no_spend(caller, metric_query, snapshot),
        )
    except StoreUnavailable as fault:
        raise PartUnverified(_unreadable_part(fault)) from fault
    results = _SourceResults(
        date_range,
        dict(zip(_METRICS, table.rows[0].values, strict=True)),
        snapshot.states,
        known,
        providers,
        unmeasured,
    )
    results.raise_if_source_failed()
    covered = await _covered_revenue_share(results, costs, scope_for_caller(caller, date_range.span))
    metrics, currency = queries.catalog.metrics, caller.workspace.currency
    values = {
        field: round_to_json_number_by_unit(results.readings[id_], metrics[id_], currency)
        for id_, field in _FIELDS.items()
    }
    return CommerceMetrics.model_validate(
        {
            "start_date": date_range.span.start,
            "end_date": date_range.span.end,
            "timezone": date_range.zone.key,
            "currency": currency,
            **values,
            "attribution": attribution,
            "refund_basis": query.refund_basis,
            "unavailable": [
                *list_unavailable_with_reasons(
                    tuple(_FIELDS.values()), tuple(results.readings[id_] for id_ in _FIELDS)
                ),
                *list_unavailable_metric_per_platform_without_spend(queries.catalog, _METRICS, unmeasured),
            ],
            "completeness": results.completeness_of_parts(covered),
        }
    )


async def _covered_revenue_share(
    results: "_SourceResults", costs: CostSource, scope: QueryScope
) -> float | None:
    """Returns the share of revenue with a cost; the store is only read if some item has none.

    Raises:
        PartUnverified: it cannot be read.
    """
    cogs, orders = results.readings["cogs"], results.readings["orders"]
    if isinstance(cogs, Measured):
        return 1 if isinstance(orders, Measured) and orders.value else None
    if cogs.reason is UnavailableReason.NO_COST_DATA:
        return None
    try:
        share = await costs.share_of_sales_with_unit_cost(scope)
    except StoreUnavailable as fault:
        raise PartUnverified("costs") from fault
    return None if share is None else float(round_decimal(share, SHARE_DECIMALS))


def _unreadable_part(fault: StoreUnavailable) -> str:
    """Returns the part of the response that cannot be read."""
    lost: Collection[Relation] = fault.relations if isinstance(fault, SourceUnavailable) else ()
    return next((part for relation, part in _PART_BY_RELATION.items() if relation in lost), "revenue")


@dataclass(frozen=True, slots=True)
class _SourceResults:
    """Answers of all sources, and how complete each is."""

    asked: ResolvedRange
    readings: Mapping[str, Measurement]
    states: Mapping[Relation, SourceState]
    connections: Sequence[Connection]
    providers: InstalledProviders
    unmeasured_platforms: tuple[str, ...]

    def raise_if_source_failed(self) -> None:
        """Refuses the response if a source could not be read.

        Raises:
            PartUnverified: a source is in error.
        """
        if any(
            connection.kind is ProviderKind.REVENUE and connection.has_failed
            for connection in self.connections
        ):
            raise PartUnverified("revenue")
        for part, ids in _PARTS.items():
            if Unavailable(UnavailableReason.SOURCE_ERROR) in {self.readings[id_] for id_ in ids}:
                raise PartUnverified(part)

    def completeness_of_parts(self, covered_revenue_share: float | None) -> Completeness:
        """Returns the completeness of each part; that of costs has the share of revenue they cover."""
        revenue, spend, costs = (
            self._revenue_completeness(),
            self._spend_completeness(),
            self._costs_completeness(covered_revenue_share),
        )
        whole = revenue.complete and spend.complete and costs.complete
        return Completeness(complete=whole, revenue=revenue, spend=spend, costs=costs)

    def _revenue_completeness(self) -> RevenueCompleteness:
        through = self._clip_to_range_end(self.states[Relation.PAYMENTS].complete_through(Relation.PAYMENTS))
        return RevenueCompleteness(complete=self._is_complete("revenue", through), through=through)

    def _spend_completeness(self) -> SpendCompleteness:
        platforms = sorted(self._completeness_of_measured_platforms(), key=lambda platform: platform.platform)
        through = min((platform.through for platform in platforms), default=None)
        is_read = through is not None and self._is_complete("spend", through)
        complete = is_read and not self.unmeasured_platforms
        return SpendCompleteness(complete=complete, through=through, platforms=platforms)

    def _costs_completeness(self, covered_revenue_share: float | None) -> CostsCompleteness:
        complete = self._is_complete("costs", self.asked.span.end)
        return CostsCompleteness(complete=complete, covered_revenue_share=covered_revenue_share)

    def _completeness_of_measured_platforms(self) -> list[PlatformCompleteness]:
        read = {
            connection.provider: synced_through(connection, self.asked.now)
            for connection in self.connections
            if self.providers.is_spend_measured(connection)
        }
        ends = {
            name: self._clip_to_range_end(instant) for name, instant in read.items() if instant is not None
        }
        return [
            PlatformCompleteness(platform=name, complete=end == self.asked.span.end, through=end)
            for name, end in ends.items()
        ]

    def _clip_to_range_end(self, watermark: datetime) -> datetime:
        return min(watermark, self.asked.span.end)

    def _is_complete(self, part: str, through: datetime) -> bool:
        is_known = not any(isinstance(self.readings[id_], Unavailable) for id_ in _PARTS[part])
        return is_known and through == self.asked.span.end


OPERATIONS = (get_commerce_metrics,)
