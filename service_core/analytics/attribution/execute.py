"""Executes `GET /attribution`: by a rule in the event store, or by a data-driven model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from service_core.analytics.attribution.credited_amounts import (
    ATTRIBUTED,
    SESSIONS,
    UNATTRIBUTED,
    VISITORS,
    CreditAggregations,
    CreditedAmounts,
)
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution.ports import DataDrivenModel, TouchKey
from service_core.analytics.attribution.resolve_model import (
    FittedWeights,
    order_absent_last,
    read_paths_and_fit_weights_if_enough_data,
)
from service_core.analytics.attribution.schemas import Grouping
from service_core.analytics.measures import Aggregation
from service_core.analytics.ports import (
    AggregateQuery,
    AggregateReader,
    AggregateResult,
    ColumnSort,
    CreditRule,
    QueryScope,
    TouchPathQuery,
    TouchPathReader,
)
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.money import allocate_by_largest_remainder


@dataclass(frozen=True, slots=True)
class CreditedGroup:
    """One group of touches with its credited amounts."""

    key: TouchKey
    visitors: int
    sessions: int
    amounts: CreditedAmounts


@dataclass(frozen=True, slots=True)
class AttributionTotals:
    """Totals of the range."""

    visitors: int
    sessions: int
    attributed: CreditedAmounts
    unattributed: CreditedAmounts

    @property
    def all_credited(self) -> CreditedAmounts:
        """The sum of attributed and unattributed amounts."""
        return self.attributed + self.unattributed


@dataclass(frozen=True, slots=True)
class RuleBasedAttribution:
    """Attribution by a rule that the event store applies."""

    scope: QueryScope
    credit: CreditRule
    reader: AggregateReader

    async def query_attributed_and_unattributed_totals(self) -> AttributionTotals:
        """Returns the totals over all groups."""
        plan = [
            CreditAggregations.with_unconverted_counts_where(predicate)
            for predicate in (ATTRIBUTED, UNATTRIBUTED)
        ]
        aggregations = (
            VISITORS,
            SESSIONS,
            *(aggregation for part in plan for aggregation in part.revenue_then_conversions_first),
        )
        result = await self.reader.aggregate(AggregateQuery(self.scope, aggregations, credit=self.credit))
        values = dict(zip(result.aggregations, result.rows[0], strict=True))
        return AttributionTotals(
            values[VISITORS],
            values[SESSIONS],
            *(part.amounts_or_none_if_unconverted(values) for part in plan),
        )

    async def query_top_groups_by_revenue_and_if_cut(
        self, grouping: Grouping, limit: int | None = None
    ) -> tuple[list[CreditedGroup], bool]:
        """Returns the groups, highest revenue first, and whether ``limit`` cut some off."""
        aggregations = CreditAggregations.with_unconverted_counts_where(ATTRIBUTED)
        plan = AggregateQuery(
            self.scope,
            (
                *aggregations.revenue_then_conversions_first[:2],
                VISITORS,
                *aggregations.revenue_then_conversions_first[2:],
                SESSIONS,
            ),
            dimensions=grouping.session_and_touch_columns_by_relation,
            order=(
                ColumnSort("m0"),
                ColumnSort("m1"),
                ColumnSort("m2"),
                *(ColumnSort(f"d{i}", descending=False) for i in range(len(grouping.touch_columns))),
            ),
            limit=limit,
            credit=self.credit,
        )
        result = await self.reader.aggregate(plan)
        groups = [
            CreditedGroup(
                key, values[VISITORS], values[SESSIONS], aggregations.amounts_or_none_if_unconverted(values)
            )
            for key, values in _iterate_rows_by_key(result)
        ]
        return groups, result.total_rows > len(result.rows)

    async def query_traffic_by_group_without_credit(self, grouping: Grouping) -> list[CreditedGroup]:
        """Returns visitors and sessions by group, without credits."""
        plan = AggregateQuery(
            self.scope, (VISITORS, SESSIONS), dimensions=grouping.session_and_touch_columns_by_relation
        )
        result = await self.reader.aggregate(plan)
        return [
            CreditedGroup(key, values[VISITORS], values[SESSIONS], CreditedAmounts())
            for key, values in _iterate_rows_by_key(result)
        ]


@dataclass(frozen=True, slots=True)
class DataDrivenAttribution:
    """Attribution by a data-driven model, which splits the totals of the event store."""

    rule_based: RuleBasedAttribution
    models: AttributionModels
    model: DataDrivenModel
    paths: TouchPathReader

    async def split_totals_into_top_groups_by_revenue(
        self, grouping: Grouping, totals: AttributionTotals, limit: int | None = None
    ) -> tuple[list[CreditedGroup], bool]:
        """Returns the groups, highest revenue first, and whether ``limit`` cut some off."""
        credit, scope = self.rule_based.credit, self.rule_based.scope
        plan = TouchPathQuery(scope, credit.window, grouping.touch_columns, credit.event_names)
        weights, traffic = await gather_or_cancel(
            read_paths_and_fit_weights_if_enough_data(
                self.model,
                plan,
                self.paths,
                min_conversions_and_non_conversions=self.models.min_conversions,
            ),
            self.rule_based.query_traffic_by_group_without_credit(grouping),
        )
        groups_by_key = {group.key: group for group in traffic}
        for key, credited_amounts in _allocate_totals_exactly_by_weight(totals.attributed, weights).items():
            groups_by_key[key] = replace(
                groups_by_key.get(key) or CreditedGroup(key, 0, 0, credited_amounts),
                amounts=credited_amounts,
            )
        ordered = sorted(groups_by_key.values(), key=_sort_key_by_revenue_then_conversions_desc)
        return ordered[:limit], limit is not None and len(ordered) > limit


def _iterate_rows_by_key(result: AggregateResult) -> Iterable[tuple[TouchKey, Mapping[Aggregation, Any]]]:
    width = len(result.aggregations)
    return ((row[:-width], dict(zip(result.aggregations, row[-width:], strict=True))) for row in result.rows)


def _allocate_totals_exactly_by_weight(
    totals: CreditedAmounts, weights: FittedWeights
) -> dict[TouchKey, CreditedAmounts]:
    """Splits the totals in proportion to weights, exactly to the last millionth and minor unit."""
    split_amounts = [
        _split_amount(amount, list(shares.values()))
        for amount, shares in (
            (totals.credit, weights.conversions),
            (totals.amount, weights.amounts),
            (totals.refunded, weights.refunds),
        )
    ]
    keys = weights.conversions
    return {key: CreditedAmounts(*amounts) for key, *amounts in zip(keys, *split_amounts, strict=True)}


def _split_amount(total: int | None, weights: Sequence[Any]) -> Sequence[int | None]:
    return [None] * len(weights) if total is None else allocate_by_largest_remainder(total, weights)


def _sort_key_by_revenue_then_conversions_desc(group: CreditedGroup) -> tuple[Any, ...]:
    return (
        -(group.amounts.amount or 0),
        -group.amounts.credit,
        -group.visitors,
        order_absent_last(group.key),
    )
