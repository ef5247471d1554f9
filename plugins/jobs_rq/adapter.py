"""Implements the job queue with RQ: it wakes workers; the jobs themselves are rows of the workspace store."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from redis.exceptions import RedisError

from plugins.jobs_rq.job import run_named_function
from plugins.jobs_rq.server import connect_without_retries, open_queue
from plugins.jobs_rq.settings import RqSettings
from service_core.plugin import JobQueueUnavailable, StartupError

WAKE_TTL_SECONDS: Final = 60
"""Seconds after which an unread wake-up is dropped: another one is sent as long as the job is free."""

JOB_TIMEOUT_SECONDS: Final = 1900
"""More than any job may run: its own time limit ends it, in order."""


class RqJobs:
    """Wakes the workers of a deployment."""

    def __init__(self, settings: RqSettings) -> None:
        self._settings = settings
        self._queue = open_queue(
            settings, connect_without_retries(settings, answer_timeout=settings.timeout_seconds)
        )

    async def check(self) -> None:
        """Checks that the server answers; changes nothing, and closes the connection.

        Raises:
            StartupError: it does not.
        """
        try:
            await asyncio.to_thread(self._queue.connection.ping)
        except (RedisError, OSError) as fault:
            raise StartupError(
                f"The Redis server of exports.queue does not answer: {str(fault).rstrip('.')}. See that it runs, and that "
                "host, port and password in the URL are right."
            ) from None
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await asyncio.to_thread(self._queue.connection.close)

    async def wake_worker(self, export_id: UUID) -> None:
        """Sends the id of the job to a worker.

        Raises:
            JobQueueUnavailable: the server is away, hung, full or read-only.
        """
        try:
            await asyncio.to_thread(self._enqueue_expiring_wake_up, str(export_id))
        except (RedisError, OSError) as fault:
            raise JobQueueUnavailable from fault

    def _enqueue_expiring_wake_up(self, export_id: str) -> None:
        self._queue.enqueue_call(
            run_named_function,
            (export_id,),
            timeout=JOB_TIMEOUT_SECONDS,
            ttl=WAKE_TTL_SECONDS,
            result_ttl=0,
            failure_ttl=WAKE_TTL_SECONDS,
            description=f"export {export_id}",
        )

    async def run_worker(self, run_next_job: Callable[[], Awaitable[bool]], stop: asyncio.Event) -> None:
        """Returns at once: workers are processes of their own."""

    def run_worker_process(self, entry: str) -> None:
        """Runs jobs in this process until SIGTERM or SIGINT, which let the job under way end first."""
        from plugins.jobs_rq.worker import run_worker_until_stopped  # noqa: PLC0415 - a server that only wakes needs none of it

        run_worker_until_stopped(self._settings, entry)
