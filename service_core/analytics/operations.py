"""The analytics operations of `reads`, by topic."""

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
    rule_deliveries,
    usage,
)
from service_core.analytics.reads.query import operations
from service_core.kernel.operations import Operation

TRAFFIC: Final[tuple[Operation, ...]] = (
    *overview.OPERATIONS,
    *breakdowns.OPERATIONS,
    *realtime.OPERATIONS,
    *link_tags.OPERATIONS,
    *event_list.OPERATIONS,
    *event_definitions.OPERATIONS,
)
"""Reads of traffic and of events."""

QUERIES: Final[tuple[Operation, ...]] = (
    *metric_values.OPERATIONS,
    *metric_catalog.OPERATIONS,
    *operations.OPERATIONS,
    *dimension_values.OPERATIONS,
)
"""Queries of any metric by any dimension."""

WORKSPACE: Final[tuple[Operation, ...]] = (*usage.OPERATIONS, *rule_deliveries.OPERATIONS)
"""The workspace, its usage, and what its rules sent."""

CONTEXT: Final[tuple[Operation, ...]] = context.OPERATIONS
"""Everything a program needs to know before it queries."""
