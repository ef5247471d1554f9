"""The core as a plugin of itself: its operations, metrics and dimensions, in explicit tuples."""

from collections.abc import Iterable

from service_core.extension import hook
from service_core.gateway import operations as gateway
from service_core.kernel.operations import Operation


@hook
def operations() -> Iterable[Operation]:
    return gateway.OPERATIONS
