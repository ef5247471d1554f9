"""Rate limits counted in the memory of one process: ``rate_limits.store = "memory://"``."""

from collections.abc import Iterable

from plugins.limits_memory.settings import LimitsMemorySettings
from service_core.plugin import Adapter, PluginInfo, RateLimiter, hook


def _open(settings: LimitsMemorySettings) -> RateLimiter:
    from plugins.limits_memory.adapter import MemoryLimiter

    return MemoryLimiter(capacity=settings.capacity)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Rate limits in memory", icon="L")


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapter for one process."""
    summary = "Budgets counted in memory, for a deployment of one process."
    return (Adapter("limits", "memory", _open, LimitsMemorySettings, summary, multi_process=False),)
