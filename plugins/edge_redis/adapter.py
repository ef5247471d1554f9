"""The port `EdgeMemory` on Redis: one short-lived value per slug."""

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

from plugins.edge_redis.settings import EdgeRedisSettings
from service_core.plugin import EdgeDown, Recalled, Route, Shared, StartupError

AT_ONCE: Final = 256
"""Questions of one round trip at most."""

PROBE_SECONDS: Final = 1.0
"""After a failure nobody waits for the server for so long: the store answers meanwhile."""

_NOWHERE: Final = b""

Command = tuple[Any, ...]
"""The words of a command."""


class RedisEdge:
    """Remembers for every machine that names the same server and prefix.

    Reads are tried once a second while the server is away; a rewrite is tried every time, since a
    change of a link waits for it.
    """

    def __init__(self, settings: EdgeRedisSettings) -> None:
        self._prefix = settings.prefix
        self._patience = settings.patience_seconds
        self._kept = settings.keep_seconds
        self._redis = Redis.from_pool(_pool(settings))
        self._shared: Shared[Command, Any] = Shared(self._sent, lambda _: EdgeDown(), AT_ONCE)
        self._away_until = 0.0

    async def check(self) -> None:
        """Look whether the server answers; changes nothing, and lets go of it.

        Raises:
            StartupError: it does not.
        """
        try:
            await self._redis.ping()
        except (RedisError, OSError) as fault:
            raise StartupError(
                f"The Redis server of links.edge does not answer: {str(fault).rstrip('.')}. See that it runs, and that "
                "host, port and password in the URL are right."
            ) from None
        finally:
            await self._redis.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._shared.settled()
        await self._redis.aclose()

    async def recall(self, key: str) -> Recalled | None:
        """What is remembered of a key; see `EdgeMemory.recall`."""
        if time.monotonic() < self._away_until:
            raise EdgeDown
        kept = await self._shared.ask(("GET", self._name(key)))
        if kept is None:
            return None
        try:
            return Recalled(None if kept == _NOWHERE else Route.model_validate_json(kept))
        except ValidationError:  # of another version of this program
            return None

    async def learn(self, key: str, route: Route | None) -> None:
        """Remember what was read, unless something is remembered."""
        await self._shared.ask((*self._setting(key, route), "NX"))

    async def rewrite(self, key: str, route: Route | None) -> None:
        """Remember this, whatever was remembered before."""
        await self._shared.ask(self._setting(key, route))

    def _setting(self, key: str, route: Route | None) -> Command:
        value = _NOWHERE if route is None else route.model_dump_json().encode()
        return "SET", self._name(key), value, "EX", self._kept

    def _name(self, key: str) -> str:
        return f"{self._prefix}:edge:{key}"

    async def _sent(self, commands: Sequence[Command]) -> list[Any]:
        """Many commands in one round trip."""
        try:
            async with asyncio.timeout(self._patience), self._redis.pipeline(transaction=False) as pipe:
                for command in commands:
                    pipe.execute_command(*command)
                answers: list[Any] = await pipe.execute()
        except (RedisError, OSError):
            self._away_until = time.monotonic() + PROBE_SECONDS
            raise
        self._away_until = 0.0
        return answers


def _pool(settings: EdgeRedisSettings) -> ConnectionPool:
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
