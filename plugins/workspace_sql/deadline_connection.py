"""Connections to PostgreSQL that are closed when the deadline of the current task has passed.

A server that hangs keeps its sockets open without answering. So every wait ends at the deadline, and the connection is
closed.
"""

import asyncio
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.waiting import wait_async

from plugins.workspace_sql.deadline import timeout_at_deadline

_RV = TypeVar("_RV")


class DeadlineConnection(psycopg.AsyncConnection[Any]):
    """A connection that is closed when a wait passes the deadline or is canceled."""

    async def wait(  # all waits of the driver go through this method
        self,
        gen: PQGen[_RV],
        interval: float = 0.1,
        timeout: float | None = None,  # noqa: ASYNC109 - the driver's signature
    ) -> _RV:
        """Waits for an answer of the server, at most until the deadline of the task.

        Raises:
            psycopg.OperationalError: the deadline passed; the connection is closed.
        """
        try:
            async with timeout_at_deadline():
                return await wait_async(gen, self.pgconn.socket, interval=interval, timeout=timeout)
        except TimeoutError:
            self.pgconn.finish()
            raise psycopg.OperationalError("the server did not answer in time") from None
        except asyncio.CancelledError:
            self.pgconn.finish()  # nobody will read the result
            raise


async def connect_before_deadline(*arguments: Any, **options: Any) -> DeadlineConnection:
    """Connects before the deadline of the task.

    Raises:
        psycopg.OperationalError: the server cannot be reached, or does not answer in time.
    """
    try:
        async with timeout_at_deadline():
            return await DeadlineConnection.connect(*arguments, **options)
    except TimeoutError:
        raise psycopg.OperationalError("the server did not take the connection in time") from None
