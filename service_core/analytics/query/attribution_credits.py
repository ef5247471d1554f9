"""Credits by a data-driven model: splits the totals of the event store over touch keys.

The model is fitted to the paths of the whole range. Results by bucket, or by a column that does not belong
to touches, are split in the same proportion, each cell exactly to its last unit.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution.ports import DataDrivenModel
from service_core.analytics.attribution.resolve_model import (
    FittedWeights,
    read_paths_and_fit_weights_if_enough_data,
    without_data_driven_model_id,
)
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
    CreditRule,
    TouchPathQuery,
    TouchPathReader,
)
from service_core.analytics.query.evaluate_predicate import condition_matches
from service_core.kernel.money import allocate_by_largest_remainder

_DEFAULT_KEY_COLUMN: Final = touch_column("channel")
"""Key of a query without a column of touches: the sum over all keys is the total."""

ResultKey: TypeAlias = tuple[Any, ...]
"""Bucket, if bucketed, and dimension values."""


@dataclass(frozen=True, slots=True)
class DataDrivenCredits:
    """Evaluates queries whose credit rule names a data-driven model; they have no order and no limit."""

    events: AggregateReader
    paths: TouchPathReader
    models: AttributionModels

    async def aggregate_splitting_credits_by_model(
        self, query: AggregateQuery, credit_rule: CreditRule
    ) -> AggregateResult:
        """Returns the aggregations by dimensions and buckets.

        Raises:
            InsufficientData: there is too little data to fit the model.
        """
        aggregations = tuple(
            dict.fromkeys(aggregation for measure in query.measures for aggregation in measure.aggregations())
        )
        others = tuple(
            aggregation for aggregation in aggregations if aggregation.relation is not Relation.CREDITS
        )
        rows_by_key: dict[ResultKey, dict[Aggregation, Any]] = defaultdict(
            lambda: dict.fromkeys(aggregations, 0)
        )
        if others:
            result = await self.events.aggregate(replace(query, measures=others, credit=None))
            for key, values in _iterate_rows_by_key(result):
                rows_by_key[key].update(values)
        credit_split = _CreditSplit(
            query,
            tuple(aggregation for aggregation in aggregations if aggregation.relation is Relation.CREDITS),
        )
        if credit_split.aggregations:
            weights = await self._fit_weights_ignoring_filters(
                query, credit_rule, credit_split.used_touch_columns_or_channel
            )
            totals = await self.events.aggregate(credit_split.totals_query_without_touch_columns(credit_rule))
            for key, aggregation, value in credit_split.split_totals_and_drop_keys_failing_touch_conditions(
                totals, weights
            ):
                rows_by_key[key][aggregation] += value
        rows = [(*key, *values.values()) for key, values in rows_by_key.items()]
        sums = tuple(
            sum(values[aggregation] for values in rows_by_key.values()) for aggregation in aggregations
        )
        return AggregateResult(rows or _build_empty_rows(query, aggregations), aggregations, len(rows), sums)

    async def _fit_weights_ignoring_filters(
        self, query: AggregateQuery, credit_rule: CreditRule, touch_columns: tuple[Column, ...]
    ) -> FittedWeights:
        model = self.models.require_installed(credit_rule.data_driven_model_id or "")
        if not isinstance(model, DataDrivenModel):
            raise TypeError(f"{model.id} is no data-driven model")
        paths = TouchPathQuery(
            replace(query.scope, filters=()), credit_rule.window, touch_columns, credit_rule.event_names
        )
        return await read_paths_and_fit_weights_if_enough_data(
            model, paths, self.paths, min_conversions_and_non_conversions=self.models.min_conversions
        )


@dataclass(frozen=True, slots=True)
class _CreditSplit:
    """The credit aggregations of a query, with the columns of touches separated from the others."""

    query: AggregateQuery
    aggregations: tuple[Aggregation, ...]

    @property
    def used_touch_columns_or_channel(self) -> tuple[Column, ...]:
        """Every column of touches that is grouped by or filtered."""
        grouped = (column for column in self._dimension_columns if _is_touch_column(column))
        compared = (
            column
            for aggregation in self.aggregations
            for condition in self._touch_conditions(aggregation)
            for column in condition.columns
        )
        return tuple(dict.fromkeys((*grouped, *compared))) or (_DEFAULT_KEY_COLUMN,)

    def totals_query_without_touch_columns(self, credit_rule: CreditRule) -> AggregateQuery:
        """Returns the query without any column of touches."""
        return replace(
            self.query,
            scope=replace(self.query.scope, filters=_without_touch_conditions(self.query.scope.filters)),
            measures=tuple(dict.fromkeys(map(_without_own_touch_conditions, self.aggregations))),
            dimensions=tuple(
                dimension
                for dimension, column in zip(self.query.dimensions, self._dimension_columns, strict=True)
                if not _is_touch_column(column)
            ),
            credit=without_data_driven_model_id(credit_rule),
        )

    def split_totals_and_drop_keys_failing_touch_conditions(
        self, totals: AggregateResult, weights: FittedWeights
    ) -> Iterator[tuple[ResultKey, Aggregation, int | float]]:
        """Yields the part of each total that belongs to each result key."""
        keys = [
            dict(zip(self.used_touch_columns_or_channel, key, strict=True)) for key in weights.conversions
        ]
        for group_key, values in _iterate_rows_by_key(totals):
            for aggregation in self.aggregations:
                for key, share in zip(
                    keys,
                    _split_total(aggregation, values[_without_own_touch_conditions(aggregation)], weights),
                    strict=True,
                ):
                    if share and all(
                        condition_matches(condition, key.__getitem__)
                        for condition in self._touch_conditions(aggregation)
                    ):
                        yield self._merge_result_key(group_key, key), aggregation, share

    @property
    def _dimension_columns(self) -> tuple[Column, ...]:
        return tuple(dimension[Relation.CREDITS] for dimension in self.query.dimensions)

    def _touch_conditions(self, aggregation: Aggregation) -> tuple[Condition, ...]:
        return tuple(filter(_uses_touch_columns, (*self.query.scope.filters, *aggregation.where)))

    def _merge_result_key(self, totals_key: ResultKey, touch_key: Mapping[Column, str | None]) -> ResultKey:
        """Returns the result key from a key of the totals and a touch key."""
        remaining = iter(totals_key)
        prefix = (next(remaining),) if self.query.buckets else ()
        return (
            *prefix,
            *(
                touch_key[column] if _is_touch_column(column) else next(remaining)
                for column in self._dimension_columns
            ),
        )


def _is_touch_column(column: Column) -> bool:
    return column.owner in {ColumnOwner.TOUCH, ColumnOwner.AD}


def _uses_touch_columns(condition: Condition) -> bool:
    return any(map(_is_touch_column, condition.columns))


def _without_touch_conditions(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    return tuple(condition for condition in conditions if not _uses_touch_columns(condition))


def _without_own_touch_conditions(aggregation: Aggregation) -> Aggregation:
    return replace(aggregation, where=_without_touch_conditions(aggregation.where))


def _split_total(aggregation: Aggregation, total: int, weights: FittedWeights) -> list[int]:
    """Returns a sum split in proportion. A row count stays whole for each key: it only shows whether there are rows."""
    if aggregation.column is None:
        return [total] * len(weights.conversions)
    shares = weights.weights_of_credit_column(aggregation.column.name)
    return allocate_by_largest_remainder(total, list(shares.values()))


def _iterate_rows_by_key(result: AggregateResult) -> Iterator[tuple[ResultKey, dict[Aggregation, Any]]]:
    width = len(result.aggregations)
    return ((row[:-width], dict(zip(result.aggregations, row[-width:], strict=True))) for row in result.rows)


def _build_empty_rows(query: AggregateQuery, aggregations: tuple[Aggregation, ...]) -> list[ResultKey]:
    """Returns the one row that a result without dimensions and buckets always has."""
    return [] if query.dimensions or query.buckets else [(0,) * len(aggregations)]
