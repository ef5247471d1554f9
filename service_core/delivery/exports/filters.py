"""The filters each export type allows, parsed like the parameters of its read endpoint."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from service_core.access.models import Caller
from service_core.analytics.attribution.models import AttributionModels
from service_core.analytics.attribution_reads.operations import (
    AttributionQuery,
    refuse_touch_basis_for_data_driven_model,
)
from service_core.analytics.measures import Predicate
from service_core.analytics.people.operations import UsersQuery
from service_core.analytics.query.catalog import Catalog
from service_core.analytics.query.models import DimensionFilter
from service_core.analytics.query.schemas import FilterBody, parse_filters_accepted_by_metrics
from service_core.analytics.query.segments import compile_conditions_on_single_events
from service_core.analytics.reads.event_list import EventsQuery
from service_core.delivery.exports.models import ExportType
from service_core.kernel.errors import BadRequest
from service_core.kernel.request_parsing import parse_query_parameters_leniently

Query: TypeAlias = EventsQuery | UsersQuery | AttributionQuery

MAX_DAYS: Final = 366

_QUERY_TYPES: Final[Mapping[ExportType, type[Query]]] = {
    ExportType.EVENTS: EventsQuery,
    ExportType.USERS: UsersQuery,
    ExportType.ATTRIBUTION: AttributionQuery,
}
ALLOWED_FILTERS: Final[Mapping[ExportType, tuple[str, ...]]] = {
    ExportType.EVENTS: (
        "event_name", "source", "attribution_source", "channel", "visitor_id", "user_id", "session_id",
        "utm_source", "utm_medium", "utm_campaign", "lyr", "country", "device_type", "property_filters",
        "segment_id", "include_bots",
    ),
    ExportType.USERS: ("search", "identified", "utm_source", "utm_campaign", "country", "include_bots"),
    ExportType.ATTRIBUTION: ("model", "window_days", "event_name", "basis", "refund_basis", "include_bots"),
}  # fmt: skip
"""Filters of each type."""

SEGMENT_FILTERS: Final = "segment_filters"
"""Name under which an export keeps the filters of its segment, as they were when the export was created."""

_BOOLEAN_FILTERS: Final = frozenset({"include_bots", "identified"})
_NUMBER_FILTERS: Final = frozenset({"window_days"})
_STRUCTURED_FILTERS: Final = frozenset({"property_filters"})


def build_read_query(
    export_type: ExportType, start_date: str | None, end_date: str | None, filters: Mapping[str, Any]
) -> Query:
    """Returns the query of the read endpoint whose rows the export holds.

    Raises:
        BadRequest: ``unknown_filter``, or a value that the endpoint would refuse.
    """
    for name in filters:
        if name not in ALLOWED_FILTERS[export_type]:
            raise BadRequest(
                f"{export_type.value} exports have no filter {name[:100]!r}",
                "unknown_filter",
                field=f"filters.{name[:100]}",
                hint=f"Filters: {', '.join(ALLOWED_FILTERS[export_type])}.",
            )
    dates = [("start_date", start_date or ""), ("end_date", end_date or "")]
    try:
        return parse_query_parameters_leniently(
            _QUERY_TYPES[export_type], [*dates, *_filters_as_query_parameters(filters)]
        )
    except BadRequest as refusal:
        raise BadRequest(
            refusal.message, refusal.code, field=_filter_field_name(refusal.field), hint=refusal.hint
        ) from None


def segment_filters_to_json(filters: Sequence[DimensionFilter]) -> dict[str, Any]:
    """Returns the filters of a segment as an export keeps them; nothing without a segment."""
    kept = [
        {
            "dimension": condition.dimension,
            "op": condition.op.value,
            "value": list(condition.value) if isinstance(condition.value, tuple) else condition.value,
        }
        for condition in filters
    ]
    return {SEGMENT_FILTERS: kept} if kept else {}


def filters_as_sent(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the filters of an export without those of its segment, which may be private."""
    return {name: value for name, value in filters.items() if name != SEGMENT_FILTERS}


def split_kept_segment_conditions(
    filters: Mapping[str, Any], catalog: Catalog
) -> tuple[dict[str, Any], tuple[Predicate, ...]]:
    """Returns the filters of an export as they were sent, and the conditions of the segment it keeps."""
    kept = [FilterBody.model_validate(item) for item in filters.get(SEGMENT_FILTERS, ())]
    return filters_as_sent(filters), compile_conditions_on_single_events(
        catalog, parse_filters_accepted_by_metrics(catalog, (), kept)
    )


def validate_export_query(query: Query, caller: Caller, models: AttributionModels) -> None:
    """Checks a query when the export is created, so that it cannot fail later.

    Raises:
        BadRequest: the dates, ``range_too_long``, or a filter without meaning.
    """
    date_range = query.resolve_range_or_default(caller)
    if (date_range.last_day - date_range.first_day).days >= MAX_DAYS:
        raise BadRequest(f"An export covers at most {MAX_DAYS} days", "range_too_long", field="end_date")
    try:
        if isinstance(query, EventsQuery):
            query.filter_predicates()
        elif isinstance(query, AttributionQuery):
            refuse_touch_basis_for_data_driven_model(
                query, models.require_installed(query.attribution_settings(caller).model)
            )
    except BadRequest as refusal:
        raise BadRequest(
            refusal.message, refusal.code, field=_filter_field_name(refusal.field), hint=refusal.hint
        ) from None


def _filters_as_query_parameters(filters: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Returns the filters as query parameters of the endpoint; null means absent."""
    for name, value in filters.items():
        if value is None:
            continue
        if isinstance(value, bool) and name in _BOOLEAN_FILTERS:
            yield name, str(value).lower()
        elif isinstance(value, int) and not isinstance(value, bool) and name in _NUMBER_FILTERS:
            yield name, str(value)
        elif isinstance(value, dict | list) and name in _STRUCTURED_FILTERS:
            yield name, json.dumps(value)
        elif isinstance(value, str):
            yield name, value
        else:
            raise BadRequest(f"{name} has the wrong type", "invalid_parameter", field=name)


def _filter_field_name(field: str | None) -> str | None:
    return f"filters.{field}" if field in set().union(*ALLOWED_FILTERS.values()) else field
