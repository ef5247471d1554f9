"""One thread that writes: while it commits, offers gather; then all of them go in one commit.

Nothing waits for a timer. An offer that finds the thread idle is committed with what arrives in
the same turn of the event loop; under load the length of a commit sets the size of the next.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from plugins.ingest_spool.arrivals import PLACES, Lane
from plugins.ingest_spool.batch import Batch, commit
from service_core.plugin import Arrival, Offer, QueueFailed

T = TypeVar("T")

_COUNTS_WAIT: Final = 0.5
"""Seconds a rejected event may wait for a commit to share before it gets one of its own."""

REPEATED: Final = ""
"""In place of the reason why an event was rejected: it is a duplicate."""


class Writer:
    """The only writer of this process; every method is called on the event loop.

    Args:
        connect: opens a connection to the file; called again after a failed commit.
        bound: offers that may be undecided at one time.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], bound: int) -> None:
        self._connect = connect
        self._bound = bound
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool-writer")
        self._connection: sqlite3.Connection | None = None
        self._next = Batch()
        self._waiting: list[asyncio.Future[Offer]] = []
        self._committing = 0
        self._working = False
        self._failures = 0
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Open the file, and know the loop: to ask for it costs an offer a system call.

        Raises:
            sqlite3.Error: the file cannot be opened.
        """
        self._loop = asyncio.get_running_loop()
        await self.run(lambda _: None)

    def offer(self, arrivals: Sequence[Arrival]) -> list[asyncio.Future[Offer]]:
        """The outcome of each arrival, once it is durable.

        Raises:
            QueueFailed: too many offers wait already.
        """
        if len(self._waiting) + self._committing >= self._bound:
            raise QueueFailed("queue")
        loop = self._loop
        assert loop is not None, "start() comes first"
        futures: list[asyncio.Future[Offer]] = [loop.create_future() for _ in arrivals]
        self._next.arrivals += arrivals
        self._waiting += futures
        if not self._working:
            self._working = True
            self._stop_timer()
            loop.call_soon(self._begin)
        return futures

    def reject(self, lane: Lane, reason: str, events: int) -> None:
        """Count rejected events with the next commit, or soon when there is none; without a reason, duplicates."""
        self._next.rejected[lane, reason] += events
        if not self._working and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_COUNTS_WAIT, self._begin)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do other work on the writing thread, between two commits."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._worked, work)

    async def aclose(self) -> None:
        """Commit what is left, as far as the file takes it, then close the file."""
        failures = self._failures
        while self._working or (self._next.rejected and self._failures == failures):
            if not self._working:
                self._begin()
            await self.run(lambda _: None)
        self._stop_timer()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown()

    def _begin(self) -> None:
        """Hand what has gathered to the thread, as much as one commit takes."""
        self._stop_timer()
        batch, futures = Batch(self._next.arrivals[:PLACES], self._next.rejected), self._waiting[:PLACES]
        self._next, self._waiting = Batch(self._next.arrivals[PLACES:]), self._waiting[PLACES:]
        self._working, self._committing = True, len(futures)
        loop = asyncio.get_running_loop()

        def decide() -> None:
            try:
                offers = self._worked(lambda connection: commit(connection, batch))
            except Exception as fault:  # noqa: BLE001 - whatever it was, every offer of the batch must hear of it
                loop.call_soon_threadsafe(self._failed, batch.rejected, futures, fault)
            else:
                loop.call_soon_threadsafe(self._decided, futures, offers)

        self._thread.submit(decide)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _decided(self, futures: list[asyncio.Future[Offer]], offers: list[Offer]) -> None:
        for future, offer in zip(futures, offers, strict=True):
            if not future.done():
                future.set_result(offer)
        self._go_on()

    def _failed(
        self,
        rejected: Counter[tuple[Lane, str]],
        futures: list[asyncio.Future[Offer]],
        fault: Exception,
    ) -> None:
        """Tell every offer of the batch; the counts of rejected events wait for the next commit."""
        self._failures += 1
        self._next.rejected.update(rejected)
        detail = fault.detail if isinstance(fault, QueueFailed) else "queue"
        for future in futures:
            if not future.done():
                future.set_exception(QueueFailed(detail, fault))
        self._go_on()

    def _go_on(self) -> None:
        self._committing = 0
        self._working = bool(self._waiting)
        if self._working:
            # After the answers that were just decided: what their readers send next shares the commit.
            asyncio.get_running_loop().call_soon(self._begin)
        elif self._next.rejected:
            self._timer = asyncio.get_running_loop().call_later(_COUNTS_WAIT, self._begin)

    def _worked(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """On the thread: work with the open connection; after a fault the next work opens a new one."""
        if self._connection is None:
            self._connection = self._connect()
        try:
            return work(self._connection)
        except BaseException:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
