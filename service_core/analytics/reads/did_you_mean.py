"""Suggests values for filters that match nothing, or that have a near duplicate."""

from collections.abc import Mapping
from typing import Final

from service_core.access.models import Caller
from service_core.analytics.measures import FilterOperator
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.models import MetricQuery
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.range_query import resolve_last_90_days
from service_core.analytics.reads.dimension_values import (
    counting_metric_or_empty,
    page_of_dimension_values_by_count,
)
from service_core.analytics.reads.similar_names import MAX_SUGGESTIONS, list_similar_names
from service_core.analytics.reads.value_suggestion import ValueSuggestion

_MAX_COMPARED_VALUES: Final = 2000
_MAX_CHECKED_VALUES_PER_FILTER: Final = 10
"""Each is compared with up to 2000 values."""


async def suggest_recent_values_for_exact_filters(
    caller: Caller, queries: MetricQueries, query: MetricQuery, snapshot: SourceSnapshot
) -> list[ValueSuggestion]:
    """Returns up to 3 similar values for the first 10 values of each exact filter, of the last 90 days.

    For a value that has data these are near duplicates with at least a fifth of its count.
    """
    suggestions: list[ValueSuggestion] = []
    for condition in query.filters:
        if condition.op not in (FilterOperator.EQ, FilterOperator.IN):
            continue
        counts = await _count_values_of_last_90_days(caller, queries, condition.dimension, snapshot)
        listed_values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
        for value in map(str, listed_values[:_MAX_CHECKED_VALUES_PER_FILTER]):
            suggestions += [
                ValueSuggestion(dimension=condition.dimension, value=value, suggestion=similar)
                for similar in list_similar_names(value, counts)
                if similar not in listed_values
            ]
            if len(suggestions) >= MAX_SUGGESTIONS:
                return suggestions[:MAX_SUGGESTIONS]
    return suggestions


async def _count_values_of_last_90_days(
    caller: Caller, queries: MetricQueries, dimension_id: str, snapshot: SourceSnapshot
) -> Mapping[str, int]:
    """Returns the values of a dimension in the last 90 days with their counts."""
    definition = queries.catalog.dimensions[dimension_id]
    snapshot = await queries.read_source_states_once(caller, counting_metric_or_empty(definition), snapshot)
    values, _ = await page_of_dimension_values_by_count(
        caller,
        queries,
        snapshot,
        definition,
        resolve_last_90_days(caller),
        search_text=None,
        limit=_MAX_COMPARED_VALUES,
    )
    return {value.value: value.count for value in values}
