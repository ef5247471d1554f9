"""Implements the port `RateLimiter` with Redis: fixed windows by the server's clock, counted in one atomic script."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.maint_notifications import MaintNotificationsConfig

from plugins.limits_redis.breaker import CircuitBreaker
from plugins.limits_redis.settings import LimitsRedisSettings
from service_core.plugin import CallBatcher, RateLimiterUnavailable, RateLimitResult, StartupError

MAX_BATCH_SIZE: Final = 256
"""Requests counted in one call at most."""

SPEND_SCRIPT: Final = """#!lua
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


class _SpendRequest(NamedTuple):
    key: str
    limit: int
    seconds: int


class RedisLimiter:
    """Counts for every process that names the same server and prefix.

    Requests that come while a call is on its way share the next one. Whatever keeps the server from
    an answer (refused, hung, slow, out of memory, read-only) is `RateLimiterUnavailable` within the patience of
    the settings, and at once while the circuit is open.
    """

    def __init__(self, settings: LimitsRedisSettings) -> None:
        self._prefix = settings.prefix
        self._patience = settings.timeout_seconds
        self._redis = Redis.from_pool(_create_pool_without_retries(settings))
        self._script = self._redis.register_script(SPEND_SCRIPT)
        self._breaker = CircuitBreaker()
        self._shared = CallBatcher(
            self._consume_batch_and_record_health, lambda _: RateLimiterUnavailable(), MAX_BATCH_SIZE
        )

    async def check(self) -> None:
        """Checks that the server answers; changes nothing, and closes the connection.

        Raises:
            StartupError: it does not.
        """
        try:
            await self._redis.ping()
        except (RedisError, OSError) as fault:
            raise StartupError(
                f"The Redis server of rate_limits.store does not answer: {str(fault).rstrip('.')}. See that it runs, and that "
                "host, port and password in the URL are right."
            ) from None
        finally:
            await self._redis.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._shared.wait_idle()
        await self._redis.aclose()

    async def consume(self, key: str, limit: int, window_seconds: int) -> RateLimitResult:
        """Counts one request against ``key``; see `RateLimiter.consume`."""
        if not self._breaker.may_call_or_probe_once_a_second():
            raise RateLimiterUnavailable
        left = await self._shared.submit_for_next_batch(
            _SpendRequest(f"{self._prefix}:limit:{key}", limit, window_seconds)
        )
        return RateLimitResult(allowed=left >= 0, limit=limit, remaining=max(left, 0))

    async def _consume_batch_and_record_health(self, requests: Sequence[_SpendRequest]) -> list[int]:
        arguments = [part for request in requests for part in (request.limit, request.seconds)]
        try:
            async with asyncio.timeout(self._patience):
                left: list[int] = await self._script([request.key for request in requests], arguments)
        except (RedisError, OSError):
            self._breaker.record_failure()
            raise
        self._breaker.record_success()
        return left


def _create_pool_without_retries(settings: LimitsRedisSettings) -> ConnectionPool:
    """Returns connections without the retries of the library, which would block for seconds."""
    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port or 6379,
        "db": settings.database,
        "username": settings.user,
        "password": settings.password,
        "socket_timeout": settings.timeout_seconds,
        "socket_connect_timeout": settings.timeout_seconds,
        "retry": Retry(NoBackoff(), 0),
        # With them the library would not look whether an idle connection was closed meanwhile.
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }
    tls = settings.url.startswith("rediss:")
    return ConnectionPool(connection_class=SSLConnection if tls else Connection, **options)
