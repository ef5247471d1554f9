"""Segments: saved filters, which a request names by their id."""

from collections.abc import Sequence
from typing import Final, Protocol
from uuid import UUID

from service_core.access.models import Caller
from service_core.analytics.measures import Column, FilterOperator, Predicate, Relation
from service_core.analytics.query.catalog import Catalog, Dimension
from service_core.analytics.query.compile_filters import (
    MATCHES_NOTHING,
    compile_filters_or_none_if_unmatchable,
)
from service_core.analytics.query.models import DimensionFilter
from service_core.analytics.query.schemas import FilterBody, parse_filters_accepted_by_metrics
from service_core.kernel.errors import BadRequest

_FIELD: Final = "segment_id"
_MATCHES_NO_EVENT: Final = Predicate("event_name", FilterOperator.IN, ())
_DEPENDS_ON_RANGE: Final = "visitor_is_new"
"""Column whose value depends on the range of a read, so that single events do not have it."""


class SegmentReader(Protocol):
    """Reads the filters of saved segments."""

    async def read_segment_filters(self, caller: Caller, segment_id: UUID) -> Sequence[FilterBody] | None:
        """Returns the filters of a segment; None if the caller can see no such segment."""


class NoSegments:
    """A `SegmentReader` without segments."""

    async def read_segment_filters(self, caller: Caller, segment_id: UUID) -> Sequence[FilterBody] | None:  # noqa: ARG002 - as the protocol
        """Returns None."""
        return None


async def read_segment_filters_accepted_by_metrics(
    reader: SegmentReader,
    catalog: Catalog,
    caller: Caller,
    segment_id: UUID | None,
    metric_ids: Sequence[str] = (),
) -> tuple[DimensionFilter, ...]:
    """Returns the filters of a segment, each on a dimension that every metric accepts; nothing without an id.

    Raises:
        BadRequest: ``unknown_segment``, or ``incompatible_dimension``.
    """
    if segment_id is None:
        return ()
    filters = await reader.read_segment_filters(caller, segment_id)
    if filters is None:
        raise BadRequest(
            "There is no such segment",
            "unknown_segment",
            field=_FIELD,
            hint="GET /segments lists the segments; the undo of its deletion brings a segment back.",
        )
    try:
        return parse_filters_accepted_by_metrics(catalog, metric_ids, filters)
    except BadRequest as refusal:
        raise BadRequest(refusal.message, refusal.code, field=_FIELD, hint=refusal.hint) from None


def compile_conditions_on_single_events(
    catalog: Catalog, filters: Sequence[DimensionFilter], error_field: str = _FIELD
) -> tuple[Predicate, ...]:
    """Returns the conditions of the single events that meet filters.

    Args:
        catalog: the dimensions.
        filters: those of a segment, or of the step of a funnel.
        error_field: the parameter that names them.

    Raises:
        BadRequest: ``incompatible_dimension``, for a dimension that single events do not have.
    """
    for condition in filters:
        require_column_of_events(catalog.dimensions[condition.dimension], error_field)
    conditions = compile_filters_or_none_if_unmatchable(filters, catalog.dimensions, Relation.EVENTS)
    return (_MATCHES_NO_EVENT,) if conditions is MATCHES_NOTHING else conditions


def require_column_of_events(dimension: Dimension, error_field: str) -> Column:
    """Returns the column of single events that holds the value of a dimension.

    Raises:
        BadRequest: ``incompatible_dimension``, for a dimension that single events do not have.
    """
    column = dimension.columns.get(Relation.EVENTS)
    if column is None or column.name == _DEPENDS_ON_RANGE:
        raise BadRequest(
            f"Events have no dimension {dimension.id}",
            "incompatible_dimension",
            field=error_field,
            hint="Leave it out; single events do not have it.",
        )
    return column
