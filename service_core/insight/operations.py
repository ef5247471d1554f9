"""Every read about events, in the order of the contract."""

from typing import Final

from service_core.insight import (
    breakdowns,
    event_kinds,
    events,
    overview,
    realtime,
    tags,
    usage,
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
)
