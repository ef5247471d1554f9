"""The Redis server: connections, scripts and the check of its durability."""

import logging
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal

from redis.asyncio import Connection, ConnectionPool, Redis, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as Silent
from redis.maint_notifications import MaintNotificationsConfig

from plugins.ingest_redis.settings import IngestRedisSettings
from service_core.plugin import StartupError

CONNECTION_ERRORS: Final = (RedisError, OSError)
"""Everything a call may raise when the server does not do it; a timeout is an `OSError`."""

OLDEST_VERSION: Final = 7
FORMAT_VERSION: Final = 1
"""Version of the keys and their values; it is raised by a change that this version could not read."""
_CONNECT_TIMEOUT_SECONDS: Final = 5.0
_SUFFICIENT_FSYNC: Final = {"always": ("always",), "everysec": ("always", "everysec")}

_log = logging.getLogger("touchpoint.ingest_redis")


def connect_without_retries(settings: IngestRedisSettings) -> Redis:
    """Returns a client without the retries of the library, which would block for seconds."""
    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port or 6379,
        "db": settings.database,
        "username": settings.user,
        "password": settings.password,
        "socket_timeout": _CONNECT_TIMEOUT_SECONDS,
        "socket_connect_timeout": settings.timeout_seconds,
        "retry": Retry(NoBackoff(), 0),
        # With them the library would not look whether an idle connection was closed meanwhile.
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }
    tls = settings.url.startswith("rediss:")
    return Redis.from_pool(ConnectionPool(connection_class=SSLConnection if tls else Connection, **options))


def register_script_file(redis: Redis, name: str) -> AsyncScript:
    """Returns a script of the folder ``scripts``; a server that does not know it gets it."""
    return redis.register_script((Path(__file__).parent / "scripts" / f"{name}.lua").read_text())


async def require_durable_server_and_mark_format_if_reachable(
    redis: Redis, required_fsync: Literal["always", "everysec"], version_key: str
) -> None:
    """Refuses a server that may lose acknowledged events, and keys of another version; one that cannot be reached is not checked.

    Raises:
        StartupError: as `require_durable_server` and `require_current_format`.
    """
    try:
        await require_durable_server(redis, required_fsync)
        await require_current_format(redis, version_key)
        await mark_format_if_writable(redis, version_key)
    except (Unreachable, Silent):
        _log.warning("the ingest queue cannot be reached; events are refused until it can")


async def require_current_format(redis: Redis, version_key: str) -> None:
    """Refuses keys of another version of Touchpoint; a queue without a version has the first format.

    Raises:
        StartupError: another version has written them.
        RedisError, OSError: the server cannot be reached.
    """
    stored = await redis.get(version_key)
    if stored is not None and stored != b"%d" % FORMAT_VERSION:
        raise StartupError(
            "The Redis queue of ingest.queue was written by another version of Touchpoint. Start the version that wrote "
            "it until it has stored every event, or name another `prefix` in ingest.queue."
        )


async def mark_format_if_writable(redis: Redis, version_key: str) -> None:
    """Stores the version of the format, unless there is one or the server takes no writes now.

    Raises:
        RedisError, OSError: the server cannot be reached.
    """
    with suppress(ResponseError):  # full or read-only: the next start stores it
        await redis.set(version_key, FORMAT_VERSION, nx=True)


async def require_durable_server(redis: Redis, required_fsync: Literal["always", "everysec"]) -> None:
    """Refuses a server that may lose acknowledged events.

    Raises:
        StartupError: it is too old, evicts keys, or writes no log, or writes it too seldom.
        RedisError, OSError: it cannot be reached.
    """
    problem = _durability_problem(await redis.info()) or await _fsync_problem_unless_hidden(
        redis, required_fsync
    )
    if problem:
        raise StartupError(f"The Redis server of ingest.queue {problem}.")


def _durability_problem(server_info: dict[str, Any]) -> str | None:
    if int(str(server_info["redis_version"]).partition(".")[0]) < OLDEST_VERSION:
        return f"is version {server_info['redis_version']}: install {OLDEST_VERSION} or newer, or Valkey"
    if server_info["maxmemory"] and server_info["maxmemory_policy"] != "noeviction":
        return "evicts keys when it is full: set `maxmemory-policy noeviction`"
    if not server_info["aof_enabled"]:
        return "keeps its data in memory only: set `appendonly yes` and `appendfsync always`"
    return None


async def _fsync_problem_unless_hidden(
    redis: Redis, required_fsync: Literal["always", "everysec"]
) -> str | None:
    try:
        found = (await redis.config_get("appendfsync"))["appendfsync"]
    except ResponseError:
        return None  # hosted servers hide their configuration: their operator answers for it
    if found in _SUFFICIENT_FSYNC[required_fsync]:
        return None
    return (
        f"may lose acknowledged events (`appendfsync {found}`): set `appendfsync {required_fsync}`, or accept the "
        "loss of a second with `fsync=everysec` in the URL"
    )
