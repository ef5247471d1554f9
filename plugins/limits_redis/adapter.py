"""The limiter port on Redis: fixed windows of the server's clock, counted in one atomic script."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.maint_notifications import MaintNotificationsConfig

from plugins.limits_redis.breaker import Breaker
from plugins.limits_redis.settings import LimitsRedisSettings
from service_core.plugin import Allowance, LimiterDown, Shared, StartupError

AT_ONCE: Final = 256
"""Requests counted in one call at most."""

SPEND: Final = """#!lua
-- KEYS: a counter for each request. ARGV: for each its limit and the seconds of its window.
-- Returns what is left for each, -1 when refused.
local now = tonumber(redis.call('TIME')[1])
local answers = {}
for i, key in ipairs(KEYS) do
  local limit, seconds = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local counter = key .. ':' .. seconds .. ':' .. math.floor(now / seconds)
  if tonumber(redis.call('GET', counter) or 0) >= limit then
    answers[i] = -1
  else
    local used = redis.call('INCR', counter)
    if used == 1 then
      redis.call('EXPIRE', counter, seconds)
    end
    answers[i] = limit - used
  end
end
return answers
"""
"""The window is part of the counter's name: a server clock that is set back locks nobody out."""


class _Request(NamedTuple):
    key: str
    limit: int
    seconds: int


class RedisLimiter:
    """Counts for every process that names the same server and prefix.

    Requests that come while a call is on its way share the next one. Whatever keeps the server from
    an answer (refused, hung, slow, out of memory, read-only) is `LimiterDown` within the patience of
    the settings, and at once while the circuit is open.
    """

    def __init__(self, settings: LimitsRedisSettings) -> None:
        self._prefix = settings.prefix
        self._patience = settings.patience_seconds
        self._redis = Redis.from_pool(_pool(settings))
        self._script = self._redis.register_script(SPEND)
        self._breaker = Breaker()
        self._shared = Shared(self._count, lambda _: LimiterDown(), AT_ONCE)

    async def check(self) -> None:
        """Look whether the server answers; changes nothing, and lets go of it.

        Raises:
            StartupError: it does not.
        """
        try:
            await self._redis.ping()
        except (RedisError, OSError) as fault:
            raise StartupError(
                f"The Redis server of limits.store does not answer: {str(fault).rstrip('.')}. See that it runs, and that "
                "host, port and password in the URL are right."
            ) from None
        finally:
            await self._redis.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._shared.settled()
        await self._redis.aclose()

    async def spend(self, key: str, limit: int, window_seconds: int) -> Allowance:
        """Count one request against ``key``; see `RateLimiter.spend`."""
        if not self._breaker.may_try():
            raise LimiterDown
        left = await self._shared.ask(_Request(f"{self._prefix}:limit:{key}", limit, window_seconds))
        return Allowance(allowed=left >= 0, limit=limit, remaining=max(left, 0))

    async def _count(self, requests: Sequence[_Request]) -> list[int]:
        arguments = [part for request in requests for part in (request.limit, request.seconds)]
        try:
            async with asyncio.timeout(self._patience):
                left: list[int] = await self._script([request.key for request in requests], arguments)
        except (RedisError, OSError):
            self._breaker.failed()
            raise
        self._breaker.succeeded()
        return left


def _pool(settings: LimitsRedisSettings) -> ConnectionPool:
    """Connections without the library's own retries: ten of them would block for seconds."""
    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port or 6379,
        "db": settings.database,
        "username": settings.user,
        "password": settings.password,
        "socket_timeout": settings.patience_seconds,
        "socket_connect_timeout": settings.patience_seconds,
        "retry": Retry(NoBackoff(), 0),
        # With them the library would not look whether an idle connection was closed meanwhile.
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }
    tls = settings.url.startswith("rediss:")
    return ConnectionPool(connection_class=SSLConnection if tls else Connection, **options)
