"""Attributes credits to ads. The event store groups by UTM values; the matching ads are looked up here.

Nothing is written to events: an account that is connected later is joined to touches of before.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Protocol
from uuid import UUID

from service_core.analytics.measures import (
    Aggregation,
    Column,
    ColumnOwner,
    Condition,
    Relation,
    touch_column,
)
from service_core.analytics.ports import (
    AggregateQuery,
    AggregateReader,
    AggregateResult,
    TouchPath,
    TouchPathQuery,
    TouchPathReader,
)
from service_core.analytics.query.evaluate_predicate import condition_matches
from service_core.commerce.ads.measured_platforms import MATCHED_TOUCH_COLUMNS, AdColumns, MeasuredPlatforms

_UTM_COLUMNS: Final = tuple(map(touch_column, MATCHED_TOUCH_COLUMNS))
_AdFinder = Callable[..., AdColumns]
"""Returns the columns of the ad of a touch, by the values of `MATCHED_TOUCH_COLUMNS`."""
_UTM_DIMENSIONS: Final = tuple({str(Relation.CREDITS): column} for column in _UTM_COLUMNS)


class CreditAndPathReader(AggregateReader, TouchPathReader, Protocol):
    """The reads of the event store that ad credits need."""


@dataclass(frozen=True, slots=True)
class UtmMatchedAdCredits:
    """Implements `AggregateReader` and `TouchPathReader` for credits grouped or filtered by columns of ads."""

    events: CreditAndPathReader
    measured: MeasuredPlatforms

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluates measures by UTM values and groups the result by the matching ads; other plans go to the event store."""
        leaves = tuple(dict.fromkeys(leaf for measure in query.measures for leaf in measure.aggregations()))
        grouped = tuple(columns.get(Relation.CREDITS) for columns in query.dimensions)
        conditions = (c for leaf in leaves for c in (*query.scope.filters, *leaf.where))
        compared = (column for condition in conditions for column in condition.columns)
        if not any(map(_is_ad_column, (*grouped, *compared))):
            return await self.events.aggregate(query)
        utm_query = _UtmQuery(query, leaves, grouped)
        return utm_query.regroup_result_by_ad(
            await self.events.aggregate(utm_query.plan_by_utm_values()),
            await self._load_ad_finder(query.scope.workspace_id),
        )

    async def list_distinct_touch_paths_with_counts(self, query: TouchPathQuery) -> Sequence[TouchPath]:
        """Returns touch paths with ad columns in place of UTM values; equal keys in a row become one."""
        if not any(map(_is_ad_column, query.key_columns)):
            return await self.events.list_distinct_touch_paths_with_counts(query)
        own_columns = tuple(column for column in query.key_columns if not _is_ad_column(column))
        ads = await self._load_ad_finder(query.scope.workspace_id)
        merged: dict[tuple[Any, ...], TouchPath] = {}
        for path in await self.events.list_distinct_touch_paths_with_counts(
            replace(query, key_columns=(*own_columns, *_UTM_COLUMNS))
        ):
            named = (
                _key_with_utm_values_as_ad_columns(query.key_columns, own_columns, key, ads)
                for key in path.keys
            )
            keys = tuple(key for key, _ in groupby(named))
            merged[keys] = _add_counts_and_money(merged.get(keys, TouchPath(keys, 0, 0)), path)
        return list(merged.values())

    async def _load_ad_finder(self, workspace_id: UUID) -> _AdFinder:
        return (await self.measured.load_touch_platforms(workspace_id)).cached_ad_columns_of_touch()


def _add_counts_and_money(path: TouchPath, other: TouchPath) -> TouchPath:
    """Returns the path with the counts and the money of another one added."""
    return replace(
        path,
        converted=path.converted + other.converted,
        unconverted=path.unconverted + other.unconverted,
        amount=path.amount + other.amount,
        refunded=path.refunded + other.refunded,
        orders=path.orders + other.orders,
    )


def _is_ad_column(column: Column | None) -> bool:
    return column is not None and column.owner is ColumnOwner.AD


def _key_with_utm_values_as_ad_columns(
    key_columns: Sequence[Column],
    own_columns: Sequence[Column],
    own_and_utm_values: Sequence[str | None],
    find_ad: _AdFinder,
) -> tuple[Any, ...]:
    """Returns the key of a touch with the columns of the matching ad in place of its UTM values."""
    own = dict(zip(own_columns, own_and_utm_values, strict=False))
    ad_columns = find_ad(*own_and_utm_values[len(own_columns) :])
    return tuple(own[column] if column in own else ad_columns.get(column.name) for column in key_columns)


@dataclass(frozen=True, slots=True)
class _UtmQuery:
    """Translates a plan by ad columns into one by UTM values, and its result back."""

    plan: AggregateQuery
    leaves: tuple[Aggregation, ...]
    grouped: tuple[Column | None, ...]

    def plan_by_utm_values(self) -> AggregateQuery:
        """Returns the plan by UTM values, without filters on ad columns."""
        plan = self.plan
        dimensions = zip(self.grouped, plan.dimensions, strict=True)
        return replace(
            plan,
            scope=replace(plan.scope, filters=_without_ad_filters(plan.scope.filters)),
            measures=tuple(dict.fromkeys(map(_without_ad_columns, self.leaves))),
            dimensions=(*(of for column, of in dimensions if not _is_ad_column(column)), *_UTM_DIMENSIONS),
        )

    def regroup_result_by_ad(self, utm_result: AggregateResult, find_ad: _AdFinder) -> AggregateResult:
        """Returns the result by UTM values, summed by the ads that they match."""
        cells: dict[tuple[Any, ...], dict[Aggregation, Any]] = defaultdict(
            lambda: dict.fromkeys(self.leaves, 0)
        )
        for row in utm_result.rows:
            width = len(row) - len(utm_result.aggregations)
            own, tags = row[: width - len(_UTM_COLUMNS)], row[width - len(_UTM_COLUMNS) : width]
            ad_columns = find_ad(*tags)
            values = dict(zip(utm_result.aggregations, row[width:], strict=True))
            for leaf in self._aggregations_accepting_ad(ad_columns):
                cells[self._row_key_with_ad_columns(own, ad_columns)][leaf] += values[
                    _without_ad_columns(leaf)
                ]
        if not (cells or self.grouped or self.plan.buckets):
            cells[()].update({})
        rows = [(*cell, *values.values()) for cell, values in cells.items()]
        sums = tuple(sum(values[leaf] for values in cells.values()) for leaf in self.leaves)
        return AggregateResult(rows, self.leaves, len(rows), sums)

    def _aggregations_accepting_ad(self, ad_columns: Mapping[str, str | None]) -> Iterator[Aggregation]:
        """Yields the aggregations whose ad filters accept an ad."""
        for leaf in self.leaves:
            conditions = filter(_uses_ad_columns, (*self.plan.scope.filters, *leaf.where))
            if all(condition_matches(c, lambda column: ad_columns.get(column.name)) for c in conditions):
                yield leaf

    def _row_key_with_ad_columns(
        self, own_values: Sequence[Any], ad_columns: Mapping[str, str | None]
    ) -> tuple[Any, ...]:
        values = iter(own_values)
        lead = (next(values),) if self.plan.buckets else ()
        return (
            *lead,
            *(
                ad_columns.get(c.name) if c is not None and _is_ad_column(c) else next(values)
                for c in self.grouped
            ),
        )


def _uses_ad_columns(condition: Condition) -> bool:
    return any(map(_is_ad_column, condition.columns))


def _without_ad_filters(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    return tuple(condition for condition in conditions if not _uses_ad_columns(condition))


def _without_ad_columns(leaf: Aggregation) -> Aggregation:
    return replace(leaf, where=_without_ad_filters(leaf.where))
