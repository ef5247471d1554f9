"""Attributes credits to ads. The event store groups by UTM values; the matching ads are looked up here.

Nothing is written to events: an account that is connected later is joined to touches of before.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Protocol
from uuid import UUID

from service_core.analytics.measures import (
    Aggregation,
    Column,
    ColumnOwner,
    Predicate,
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
from service_core.analytics.query.evaluate_predicate import value_matches
from service_core.commerce.ads.match_ads import MATCHED_UTM_COLUMNS, AdMatcher
from service_core.commerce.ads.models import AdLevel
from service_core.commerce.ads.ports import AdPlatforms, AdSpendStore
from service_core.kernel.async_gather import gather_or_cancel

_UTM_COLUMNS: Final = tuple(map(touch_column, MATCHED_UTM_COLUMNS))
_UTM_DIMENSIONS: Final = tuple({str(Relation.CREDITS): column} for column in _UTM_COLUMNS)


class CreditAndPathReader(AggregateReader, TouchPathReader, Protocol):
    """What is asked of the event store."""


@dataclass(frozen=True, slots=True)
class AdCredits:
    """Implements `AggregateReader` and `TouchPathReader` for credits grouped or filtered by columns of ads."""

    events: CreditAndPathReader
    store: AdSpendStore
    platforms: AdPlatforms

    async def aggregate(self, query: AggregateQuery) -> AggregateResult:
        """Evaluates measures by UTM values and groups the result by the matching ads; other plans go to the event store."""
        leaves = tuple(dict.fromkeys(leaf for measure in query.measures for leaf in measure.aggregations()))
        grouped = tuple(columns.get(Relation.CREDITS) for columns in query.dimensions)
        compared = (p.column for leaf in leaves for p in (*query.scope.filters, *leaf.where))
        if not any(map(_is_ad_column, (*grouped, *compared))):
            return await self.events.aggregate(query)
        utm_query = _UtmQuery(query, leaves, grouped)
        return utm_query.to_ad_grid(
            await self.events.aggregate(utm_query.to_utm_plan()),
            await self._ad_matcher(query.scope.workspace_id),
        )

    async def list_touch_paths(self, query: TouchPathQuery) -> Sequence[TouchPath]:
        """Returns touch paths with ad columns in place of UTM values; equal keys in a row become one."""
        if not any(map(_is_ad_column, query.key_columns)):
            return await self.events.list_touch_paths(query)
        own_columns = tuple(column for column in query.key_columns if not _is_ad_column(column))
        ads = await self._ad_matcher(query.scope.workspace_id)
        converted: Counter[tuple[Any, ...]] = Counter()
        unconverted: Counter[tuple[Any, ...]] = Counter()
        for path in await self.events.list_touch_paths(
            replace(query, key_columns=(*own_columns, *_UTM_COLUMNS))
        ):
            named = (_ad_path_key(query.key_columns, own_columns, key, ads) for key in path.keys)
            keys = tuple(key for key, _ in groupby(named))
            converted[keys] += path.converted
            unconverted[keys] += path.unconverted
        return [TouchPath(keys, converted[keys], unconverted[keys]) for keys in converted]

    async def _ad_matcher(self, workspace_id: UUID) -> AdMatcher:
        entities_by_level = await gather_or_cancel(
            *(self.store.list_ad_entities(workspace_id, level) for level in AdLevel)
        )
        entities = (entity for of_level in entities_by_level for entity in of_level)
        return AdMatcher(entities, self.platforms.by_traffic_source)


def _is_ad_column(column: Column | None) -> bool:
    return column is not None and column.owner is ColumnOwner.AD


def _ad_path_key(
    columns: Sequence[Column], own_columns: Sequence[Column], key: Sequence[str | None], ads: AdMatcher
) -> tuple[Any, ...]:
    """Returns the key of a touch with the columns of the matching ad in place of its UTM values."""
    own = dict(zip(own_columns, key, strict=False))
    ad_columns = ads.match(*key[len(own_columns) :])
    return tuple(own[column] if column in own else ad_columns.get(column.name) for column in columns)


@dataclass(frozen=True, slots=True)
class _UtmQuery:
    """Translates a plan by ad columns into one by UTM values, and its result back."""

    plan: AggregateQuery
    leaves: tuple[Aggregation, ...]
    grouped: tuple[Column | None, ...]

    def to_utm_plan(self) -> AggregateQuery:
        """Returns the plan by UTM values, without filters on ad columns."""
        plan = self.plan
        dimensions = zip(self.grouped, plan.dimensions, strict=True)
        return replace(
            plan,
            scope=replace(plan.scope, filters=_without_ad_filters(plan.scope.filters)),
            measures=tuple(dict.fromkeys(map(_without_ad_columns, self.leaves))),
            dimensions=(*(of for column, of in dimensions if not _is_ad_column(column)), *_UTM_DIMENSIONS),
        )

    def to_ad_grid(self, by_utm: AggregateResult, ads: AdMatcher) -> AggregateResult:
        """Returns the result by UTM values, summed by the ads that they match."""
        cells: dict[tuple[Any, ...], dict[Aggregation, Any]] = defaultdict(
            lambda: dict.fromkeys(self.leaves, 0)
        )
        for row in by_utm.rows:
            width = len(row) - len(by_utm.aggregations)
            own, tags = row[: width - len(MATCHED_UTM_COLUMNS)], row[width - len(MATCHED_UTM_COLUMNS) : width]
            ad_columns = ads.match(*tags)
            values = dict(zip(by_utm.aggregations, row[width:], strict=True))
            for leaf in self._leaves_matching(ad_columns):
                cells[self._group_key(own, ad_columns)][leaf] += values[_without_ad_columns(leaf)]
        if not (cells or self.grouped or self.plan.buckets):
            cells[()].update({})
        rows = [(*cell, *values.values()) for cell, values in cells.items()]
        sums = tuple(sum(values[leaf] for values in cells.values()) for leaf in self.leaves)
        return AggregateResult(rows, self.leaves, len(rows), sums)

    def _leaves_matching(self, ad_columns: Mapping[str, str | None]) -> Iterator[Aggregation]:
        """Yields the aggregations whose ad filters accept an ad."""
        for leaf in self.leaves:
            conditions = (p for p in (*self.plan.scope.filters, *leaf.where) if _is_ad_column(p.column))
            if all(value_matches(ad_columns.get(p.column.name), p.op, p.value) for p in conditions):
                yield leaf

    def _group_key(self, own: Sequence[Any], ad_columns: Mapping[str, str | None]) -> tuple[Any, ...]:
        values = iter(own)
        lead = (next(values),) if self.plan.buckets else ()
        return (
            *lead,
            *(
                ad_columns.get(c.name) if c is not None and _is_ad_column(c) else next(values)
                for c in self.grouped
            ),
        )


def _without_ad_filters(conditions: Sequence[Predicate]) -> tuple[Predicate, ...]:
    return tuple(p for p in conditions if not _is_ad_column(p.column))


def _without_ad_columns(leaf: Aggregation) -> Aggregation:
    return replace(leaf, where=_without_ad_filters(leaf.where))
