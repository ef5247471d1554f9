"""Suggests values for filters that match nothing."""

from difflib import get_close_matches
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
from service_core.kernel.schemas import ResponseModel

_MAX_SUGGESTIONS: Final = 3
_MIN_SIMILARITY: Final = 0.6
_MAX_COMPARED_VALUES: Final = 2000


class ValueSuggestion(ResponseModel):
    """A filter value without rows, and a similar value."""

    dimension: str
    value: str
    suggestion: str


async def suggest_recent_values_for_exact_filters(
    caller: Caller, queries: MetricQueries, query: MetricQuery, snapshot: SourceSnapshot
) -> list[ValueSuggestion]:
    """Returns up to 3 similar values for exact filter values without rows in the last 90 days."""
    suggestions: list[ValueSuggestion] = []
    for condition in query.filters:
        if condition.op not in (FilterOperator.EQ, FilterOperator.IN):
            continue
        recent_values = await _list_values_of_last_90_days(caller, queries, condition.dimension, snapshot)
        listed_values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
        for value in map(str, listed_values):
            matches = (
                []
                if value in recent_values
                else get_close_matches(value, recent_values, _MAX_SUGGESTIONS, _MIN_SIMILARITY)
            )
            suggestions += [
                ValueSuggestion(dimension=condition.dimension, value=value, suggestion=match)
                for match in matches
            ]
    return suggestions[:_MAX_SUGGESTIONS]


async def _list_values_of_last_90_days(
    caller: Caller, queries: MetricQueries, dimension_id: str, snapshot: SourceSnapshot
) -> list[str]:
    """Returns the values of a dimension in the last 90 days, most frequent first."""
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
    return [value.value for value in values]
