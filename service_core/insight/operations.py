"""Every read about events, in the order of the contract."""

from typing import Final

from service_core.insight import (
    analytics_query,
    breakdowns,
    context,
    event_kinds,
    events,
    metric_catalog,
    metric_values,
    overview,
    realtime,
    tags,
    usage,
    values,
)
from service_core.kernel.operations import Operation

OPERATIONS: Final[tuple[Operation, ...]] = (
    *overview.OPERATIONS,
    *breakdowns.OPERATIONS,
    *tags.OPERATIONS,
    *realtime.OPERATIONS,
    *events.OPERATIONS,
    *event_kinds.OPERATIONS,
    *usage.OPERATIONS,
    *context.OPERATIONS,
    *metric_values.OPERATIONS,
    *metric_catalog.OPERATIONS,
    *analytics_query.OPERATIONS,
    *values.OPERATIONS,
)
