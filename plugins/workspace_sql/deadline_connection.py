"""Connections to PostgreSQL that are closed when the deadline of the current task has passed.

A server that hangs keeps its sockets: nothing breaks, and nothing answers. So every wait ends at the
moment the work is due, whatever it waits for, and the connection with it.
"""

import asyncio
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.waiting import wait_async

from plugins.workspace_sql.deadline import timeout_at_deadline

_RV = TypeVar("_RV")


class DeadlineConnection(psycopg.AsyncConnection[Any]):
    """A connection that ends with whoever waits for it in vain, or goes away."""

    async def wait(  # the driver waits here, and nowhere else
        self,
        gen: PQGen[_RV],
        interval: float = 0.1,
        timeout: float | None = None,  # noqa: ASYNC109 - the driver's signature
    ) -> _RV:
        """Wait for an answer of the server.

        Raises:
            psycopg.OperationalError: the present work is past its time.
        """
        try:
            async with timeout_at_deadline():
                return await wait_async(gen, self.pgconn.socket, interval=interval, timeout=timeout)
        except TimeoutError:
            self.pgconn.finish()
            raise psycopg.OperationalError("the server did not answer in time") from None
        except asyncio.CancelledError:
            self.pgconn.finish()  # what the server still does belongs to nobody
            raise


async def connect(*arguments: Any, **options: Any) -> DeadlineConnection:
    """Connect, while there is time.

    Raises:
        psycopg.OperationalError: the server cannot be reached, or does not answer in time.
    """
    try:
        async with timeout_at_deadline():
            return await DeadlineConnection.connect(*arguments, **options)
    except TimeoutError:
        raise psycopg.OperationalError("the server did not take the connection in time") from None
