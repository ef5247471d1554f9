"""`GET /search`: finds anything that has a name."""

from collections.abc import Iterable
from typing import Annotated, ClassVar, Final

from pydantic import Field

from service_core.access.models import Caller
from service_core.analytics.people.ports import PeoplePageQuery, PersonReader
from service_core.analytics.query.catalog import Dimension
from service_core.analytics.query.evaluate_predicate import lower_case_letter_by_letter
from service_core.analytics.query.metric_queries import MetricQueries
from service_core.analytics.query.snapshot import SourceSnapshot
from service_core.analytics.range_query import resolve_last_90_days
from service_core.analytics.reads.dimension_values import (
    counting_metric_or_empty,
    page_of_dimension_values_by_count,
    spend_row_counts_by_label_descending,
)
from service_core.analytics.scope import scope_for_caller
from service_core.changes.change_executor import ChangeExecutor
from service_core.changes.resource import Resource
from service_core.kernel.async_gather import gather_or_cancel
from service_core.kernel.errors import BadRequest
from service_core.kernel.null_reasons import KNOWN_NULL
from service_core.kernel.operations import operation
from service_core.kernel.row_selection import RowSelection
from service_core.kernel.schemas import Clamp, ResponseModel
from service_core.workspace.links.models import TrackingLink

_MIN_QUERY_LENGTH: Final = 2
_DIMENSION_TYPES: Final = {
    "campaign": "utm_campaign",
    "source": "attribution_source",
    "page": "page_path",
    "event": "event_name",
    "tag": "lyr",
    "product": "product",
}
"""Result types that are values of a dimension."""

_AD_ENTITY_TYPES: Final = {
    "campaign": ("campaign_id", "campaign_name"),
    "ad_group": ("ad_group_id", "ad_group_name"),
    "ad": ("ad_id", "ad_name"),
}
"""Result types that are ad entities: id and name dimension of each."""

_RESOURCE_TYPES: Final = {
    "link": TrackingLink.resource_type,
    "report": "report",
    "dashboard": "dashboard",
    "analysis": "analysis",
}
"""Result types that are resources of the workspace."""

RESULT_TYPES: Final = (
    *dict.fromkeys((*_DIMENSION_TYPES, *_AD_ENTITY_TYPES)),
    *_RESOURCE_TYPES,
    "metric",
    "user",
)


class SearchQuery(RowSelection):
    """Parameters of `GET /search`."""

    required_params: ClassVar = ("q",)
    q: str = Field(default="", description="At least 2 characters.")
    types: str | None = Field(default=None, description="Comma list; default all types.")
    limit: Annotated[int, Clamp(1, 50)] = 20

    def validated_result_types(self) -> tuple[str, ...]:
        """Returns the result types to search, without duplicates.

        Raises:
            BadRequest: ``missing_query`` or an unknown type.
        """
        if len(self.q.strip()) < _MIN_QUERY_LENGTH:
            raise BadRequest("q is required, at least 2 characters", "missing_query", field="q")
        sent = [name for part in (self.types or "").split(",") if (name := part.strip())]
        unknown = next((type_ for type_ in sent if type_ not in RESULT_TYPES), None)
        if unknown is not None:
            raise BadRequest(
                f"Unknown type {unknown!r}",
                "invalid_parameter",
                field="types",
                hint=f"Types: {', '.join(RESULT_TYPES)}.",
            )
        return tuple(dict.fromkeys(sent or RESULT_TYPES))  # each type is a query, so duplicates are removed


class SearchResult(ResponseModel):
    """A search result; one with a ``dimension`` can be used as a filter."""

    type: str
    dimension: str | None = None
    value: str
    label: str
    id: str | None = None
    platform: str | None = None
    count: Annotated[int | None, KNOWN_NULL] = None


class SearchResults(ResponseModel):
    """Search results: names that start with the query first, then the most frequent."""

    query: str
    results: list[SearchResult]


@operation("GET /search", tag="query", tool="search")
async def get_search(
    query: SearchQuery,
    *,
    caller: Caller,
    queries: MetricQueries,
    people: PersonReader,
    changes: ChangeExecutor,
) -> SearchResults:
    """Campaigns, ads, sources, pages, events, tags and people of the last 90 days by name; also metrics, links and reports."""
    types, text = query.validated_result_types(), query.q.strip()
    dimensions = {
        type_: queries.catalog.dimensions[_DIMENSION_TYPES[type_]]
        for type_ in types
        if type_ in _DIMENSION_TYPES
    }
    metrics = [id_ for dimension in dimensions.values() for id_ in counting_metric_or_empty(dimension)]
    snapshot = await queries.read_source_states_once(caller, metrics)
    value_searches = [
        _search_values_of_last_90_days(
            caller, queries, snapshot, result_type=type_, dimension=dimension, text=text, limit=query.limit
        )
        for type_, dimension in dimensions.items()
    ]
    entity_searches = [
        _search_ad_entities_of_last_90_days(caller, queries, type_, text)
        for type_ in types
        if type_ in _AD_ENTITY_TYPES
    ]
    groups = await gather_or_cancel(*value_searches, *entity_searches)
    results = [result for group in groups for result in group]
    resource_types = [type_ for type_ in types if type_ in _RESOURCE_TYPES]
    results += await _search_resources(caller, changes, resource_types, text, query.limit)
    if "metric" in types:
        results += _search_metrics_by_label_or_id(queries, text)
    if "user" in types:
        results += await _search_users_of_last_90_days(caller, people, text, query.limit)
    results.sort(
        key=lambda result: (
            not result.label.lower().startswith(text.lower()),
            -(result.count or 0),
            result.label.lower(),
        )
    )
    return SearchResults(query=query.q, results=results[: query.limit])


async def _search_values_of_last_90_days(
    caller: Caller,
    queries: MetricQueries,
    snapshot: SourceSnapshot,
    *,
    result_type: str,
    dimension: Dimension,
    text: str,
    limit: int,
) -> list[SearchResult]:
    values, _ = await page_of_dimension_values_by_count(
        caller, queries, snapshot, dimension, resolve_last_90_days(caller), search_text=text, limit=limit
    )
    return [
        SearchResult(
            type=result_type, dimension=dimension.id, value=value.value, label=value.label, count=value.count
        )
        for value in values
        if value.value != dimension.null_label
    ]


async def _search_ad_entities_of_last_90_days(
    caller: Caller, queries: MetricQueries, result_type: str, text: str
) -> list[SearchResult]:
    """Returns campaigns, ad groups and ads whose name or id contains the text; the label is the name or else the id."""
    ids = ("platform", *_AD_ENTITY_TYPES[result_type])
    dimensions = [queries.catalog.dimensions[id_] for id_ in ids]
    entities = await spend_row_counts_by_label_descending(
        caller, queries, dimensions, resolve_last_90_days(caller)
    )
    return [
        SearchResult(
            type=result_type,
            dimension=ids[1],
            value=id_,
            label=id_ if name == dimensions[2].null_label else name,
            id=id_,
            platform=platform,
            count=rows,
        )
        for (platform, id_, name), rows in entities
        if lower_case_letter_by_letter(text) in lower_case_letter_by_letter(name)
        or lower_case_letter_by_letter(text) in lower_case_letter_by_letter(id_)
    ]


async def _search_resources(
    caller: Caller, changes: ChangeExecutor, result_types: Iterable[str], text: str, limit_per_type: int
) -> list[SearchResult]:
    """Returns resources of which a name contains the text."""
    results: list[SearchResult] = []
    async with changes.transactions.read(caller.workspace.id) as transaction:
        for type_ in result_types:
            kind = changes.resource_types.get(_RESOURCE_TYPES[type_])
            records = (
                await transaction.resources.search_by_name_prefix_first(kind.model, text, limit_per_type)
                if kind
                else []
            )
            results += [_resource_result_or_tag_filter(type_, record) for record in records]
    return results


def _resource_result_or_tag_filter(type_: str, record: Resource) -> SearchResult:
    """Returns a link as a filter by its tracking identifier, any other resource by its id."""
    own = str(record.id)
    if isinstance(record, TrackingLink):
        tag = record.tracking_identifier
        return SearchResult(type=type_, dimension="lyr", value=tag, label=record.name, id=own)
    return SearchResult(type=type_, value=own, label=record.name, id=own)


def _search_metrics_by_label_or_id(queries: MetricQueries, text: str) -> list[SearchResult]:
    return [
        SearchResult(type="metric", value=metric.id, label=metric.label, id=metric.id)
        for metric in queries.catalog.metrics.values()
        if text.lower() in metric.label.lower() or text.lower() in metric.id
    ]


async def _search_users_of_last_90_days(
    caller: Caller, people: PersonReader, text: str, limit: int
) -> list[SearchResult]:
    scan = scope_for_caller(caller, resolve_last_90_days(caller).span)
    profiles, _ = await people.list_people_and_total(
        PeoplePageQuery(scan, limit=limit, offset=0, sort="last_seen", search=text)
    )
    return [
        SearchResult(
            type="user",
            value=person.user_id or person.visitor_id,
            label=person.email or person.user_id or person.visitor_id,
            id=person.user_id or person.visitor_id,
            count=person.events,
        )
        for person in profiles
    ]


OPERATIONS = (get_search,)
