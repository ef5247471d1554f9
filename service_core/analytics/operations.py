"""All analytics operations, in the order of the API reference."""

from typing import Final

from service_core.analytics.reads import (
    breakdowns,
    context,
    dimension_values,
    event_definitions,
    event_list,
    link_tags,
    metric_catalog,
    metric_values,
    overview,
    realtime,
    usage,
)
from service_core.analytics.reads.query import operations
from service_core.kernel.operations import Operation

OPERATIONS: Final[tuple[Operation, ...]] = (
    *overview.OPERATIONS,
    *breakdowns.OPERATIONS,
    *link_tags.OPERATIONS,
    *realtime.OPERATIONS,
    *event_list.OPERATIONS,
    *event_definitions.OPERATIONS,
    *usage.OPERATIONS,
    *context.OPERATIONS,
    *metric_values.OPERATIONS,
    *metric_catalog.OPERATIONS,
    *operations.OPERATIONS,
    *dimension_values.OPERATIONS,
)
