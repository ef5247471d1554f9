"""Rate limits counted in Redis, shared by every process: ``rate_limits.store = "redis://host:6379/0"``."""

from collections.abc import Iterable

from plugins.limits_redis.settings import LimitsRedisSettings
from service_core.plugin import Adapter, PluginInfo, RateLimiter, hook


def _open(settings: LimitsRedisSettings) -> RateLimiter:
    from plugins.limits_redis.adapter import RedisLimiter

    return RedisLimiter(settings)


@hook
def plugin_info() -> PluginInfo:
    """The declaration of the plugin."""
    return PluginInfo("Rate limits in Redis", icon="L")


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapters for several processes, plain and over TLS."""
    summary = "Budgets counted in Redis or Valkey, shared by every process of a deployment."
    return [
        Adapter(port="limits", scheme=scheme, open=_open, settings=LimitsRedisSettings, summary=summary)
        for scheme in ("redis", "rediss")
    ]
