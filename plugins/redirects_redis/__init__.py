"""A cache of redirects in Redis, shared by every link host: ``links.redirect_cache = "redis://host:6379/0"``."""

from collections.abc import Iterable

from plugins.redirects_redis.declaration import plugin_info as plugin_info
from plugins.redirects_redis.settings import RedirectsRedisSettings
from service_core.plugin import Adapter, RedirectCache, hook


def _open(settings: RedirectsRedisSettings) -> RedirectCache:
    from plugins.redirects_redis.adapter import RedisRedirectCache

    return RedisRedirectCache(settings)


@hook
def adapters() -> Iterable[Adapter]:
    """Returns the adapters for several machines, plain and over TLS."""
    summary = (
        "Redirects of trackable links remembered in Redis or Valkey, for link hosts on several machines."
    )
    return [
        Adapter(
            port="redirect_cache", scheme=scheme, open=_open, settings=RedirectsRedisSettings, summary=summary
        )
        for scheme in ("redis", "rediss")
    ]
