"""Implements the port `RedirectCache` with Redis: one short-lived value per slug."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

from pydantic import ValidationError
from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.maint_notifications import MaintNotificationsConfig

from plugins.redirects_redis.settings import RedirectsRedisSettings
from service_core.plugin import CachedRedirect, CallBatcher, Redirect, RedirectCacheUnavailable, StartupError

MAX_CONNECTIONS: Final = 256
"""Questions of one round trip at most."""

PROBE_SECONDS: Final = 1.0
"""Seconds after a failure in which the server is not asked; the store answers meanwhile."""

_NO_ROUTE: Final = b""

Command = tuple[Any, ...]
"""The words of a command."""


class RedisRedirectCache:
    """A cache shared by every machine that names the same server and prefix.

    Reads are tried once a second while the server is away; a rewrite is tried every time, since a
    change of a link waits for it.
    """

    def __init__(self, settings: RedirectsRedisSettings) -> None:
        self._prefix = settings.prefix
        self._timeout_seconds = settings.timeout_seconds
        self._max_age_seconds = settings.max_age_seconds
        self._redis = Redis.from_pool(_create_pool_without_retries(settings))
        self._shared: CallBatcher[Command, Any] = CallBatcher(
            self._send_pipeline_and_note_outage, lambda _: RedirectCacheUnavailable(), MAX_CONNECTIONS
        )
        self._away_until = 0.0

    async def check(self) -> None:
        """Checks that the server answers; changes nothing, and closes the connection.

        Raises:
            StartupError: it does not.
        """
        try:
            await self._redis.ping()
        except (RedisError, OSError) as fault:
            raise StartupError(
                f"The Redis server of links.redirect_cache does not answer: {str(fault).rstrip('.')}. See that it runs, and that "
                "host, port and password in the URL are right."
            ) from None
        finally:
            await self._redis.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._shared.wait_idle()
        await self._redis.aclose()

    async def get(self, key: str) -> CachedRedirect | None:
        """Returns the cached redirect of a key; see `RedirectCache.recall`."""
        if time.monotonic() < self._away_until:
            raise RedirectCacheUnavailable
        cached = await self._shared.submit_for_next_batch(("GET", self._key_name(key)))
        if cached is None:
            return None
        try:
            return CachedRedirect(None if cached == _NO_ROUTE else Redirect.model_validate_json(cached))
        except ValidationError:  # of another version of this program
            return None

    async def add(self, key: str, redirect: Redirect | None) -> None:
        """Caches a redirect unless one is cached already."""
        await self._shared.submit_for_next_batch((*self._set_command(key, redirect), "NX"))

    async def set(self, key: str, redirect: Redirect | None) -> None:
        """Replaces the cached redirect."""
        await self._shared.submit_for_next_batch(self._set_command(key, redirect))

    def _set_command(self, key: str, route: Redirect | None) -> Command:
        value = _NO_ROUTE if route is None else route.model_dump_json().encode()
        return "SET", self._key_name(key), value, "EX", self._max_age_seconds

    def _key_name(self, key: str) -> str:
        return f"{self._prefix}:edge:{key}"

    async def _send_pipeline_and_note_outage(self, commands: Sequence[Command]) -> list[Any]:
        """Sends several commands in one round trip."""
        try:
            async with (
                asyncio.timeout(self._timeout_seconds),
                self._redis.pipeline(transaction=False) as pipe,
            ):
                for command in commands:
                    pipe.execute_command(*command)
                answers: list[Any] = await pipe.execute()
        except (RedisError, OSError):
            self._away_until = time.monotonic() + PROBE_SECONDS
            raise
        self._away_until = 0.0
        return answers


def _create_pool_without_retries(settings: RedirectsRedisSettings) -> ConnectionPool:
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
