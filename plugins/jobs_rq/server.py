"""The Redis server and its queue."""

from typing import Any, Final

from redis import Connection, ConnectionPool, Redis, SSLConnection
from redis.backoff import NoBackoff
from redis.retry import Retry
from rq import Queue

from plugins.jobs_rq.job import WakeJob
from plugins.jobs_rq.settings import RqSettings

SERIALIZER: Final = "json"
"""Serializer of the queue: JSON only; a pickled payload does not parse and is never run."""


def connect_without_retries(settings: RqSettings, *, answer_timeout: float | None = None) -> Redis:
    """Returns a client without the retries of the library, which would block for seconds.

    Args:
        settings: the server.
        answer_timeout: how long an answer may take; None for workers, which wait for jobs as long as it takes.
    """
    options: dict[str, Any] = {
        "host": settings.host,
        "port": settings.port or 6379,
        "db": settings.database,
        "username": settings.user,
        "password": settings.password,
        "socket_timeout": answer_timeout,
        "socket_connect_timeout": answer_timeout or 5,
        "retry": Retry(NoBackoff(), 0),
    }
    tls = settings.url.startswith("rediss:")
    return Redis.from_pool(ConnectionPool(connection_class=SSLConnection if tls else Connection, **options))


def open_queue(settings: RqSettings, redis: Redis) -> Queue:
    """Returns the queue of the deployment."""
    return Queue(settings.queue, connection=redis, serializer=SERIALIZER, job_class=WakeJob)
