"""Rate limits counted in the memory of one process: ``rate_limits.store = "memory://"``."""

from collections.abc import Iterable

from plugins.limits_memory.settings import LimitsMemorySettings
from service_core.plugin import Adapter, RateLimiter, hook


def _open(settings: LimitsMemorySettings) -> RateLimiter:
    from plugins.limits_memory.adapter import MemoryLimiter

    return MemoryLimiter(capacity=settings.capacity)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapter for one process."""
    return (
        Adapter(
            port="limits",
            scheme="memory",
            open=_open,
            settings=LimitsMemorySettings,
            summary="Budgets counted in memory, for a deployment of one process.",
            multi_process=False,
        ),
    )
