"""The writer thread: offers that arrive during a commit share the next one.

Nothing waits for a timer. An offer that finds the thread idle is committed with what arrives in
the same turn of the event loop; under load the length of a commit sets the size of the next.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from plugins.ingest_spool.group_commit import OfferBatch, commit_offers_and_rejected_counts
from plugins.ingest_spool.row_format import MAX_EVENTS_PER_BATCH, LedgerKey
from service_core.plugin import EnqueueFailed, EnqueueResult, ReceivedEvent

T = TypeVar("T")

_COUNTS_DELAY_SECONDS: Final = 0.5
"""Seconds a rejected event may wait for a commit to share before it gets one of its own."""

DUPLICATE: Final = ""
"""In place of the reason why an event was rejected: it is a duplicate."""


class GroupCommitWriter:
    """The only writer of this process; its methods are called on the event loop.

    Args:
        connect: opens a connection to the file; called again after a failed commit.
        max_queued: offers that may be undecided at one time.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection], max_queued: int) -> None:
        self._connect = connect
        self._bound = max_queued
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spool-writer")
        self._connection: sqlite3.Connection | None = None
        self._next = OfferBatch()
        self._waiting: list[asyncio.Future[EnqueueResult]] = []
        self._committing = 0
        self._working = False
        self._failures = 0
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Opens the file; keeps the event loop, since looking it up costs each offer a system call.

        Raises:
            sqlite3.Error: the file cannot be opened.
        """
        self._loop = asyncio.get_running_loop()
        await self.run_on_writer_thread(lambda _: None)

    def enqueue_for_next_commit(
        self, arrivals: Sequence[ReceivedEvent]
    ) -> list[asyncio.Future[EnqueueResult]]:
        """Returns a future for each event, set once it is durable.

        Raises:
            EnqueueFailed: too many offers wait already.
        """
        if len(self._waiting) + self._committing >= self._bound:
            raise EnqueueFailed("queue")
        loop = self._loop
        assert loop is not None, "start() comes first"
        futures: list[asyncio.Future[EnqueueResult]] = [loop.create_future() for _ in arrivals]
        self._next.arrivals += arrivals
        self._waiting += futures
        if not self._working:
            self._working = True
            self._stop_timer()
            loop.call_soon(self._commit_pending_on_writer_thread)
        return futures

    def count_with_next_commit(self, ledger_key: LedgerKey, reason: str, events: int) -> None:
        """Counts rejected events with the next commit, or soon without one; without a reason, duplicates."""
        self._next.rejected[ledger_key, reason] += events
        if not self._working and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(
                _COUNTS_DELAY_SECONDS, self._commit_pending_on_writer_thread
            )

    async def run_on_writer_thread(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Runs other work on the writer thread, between two commits."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._run_and_disconnect_on_error, action
        )

    async def aclose(self) -> None:
        """Commits what is pending, then closes the file."""
        failures = self._failures
        while self._working or (self._next.rejected and self._failures == failures):
            if not self._working:
                self._commit_pending_on_writer_thread()
            await self.run_on_writer_thread(lambda _: None)
        self._stop_timer()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown()

    def _commit_pending_on_writer_thread(self) -> None:
        """Commits the pending offers on the writer thread, as many as one commit takes, and all rejected counts."""
        self._stop_timer()
        batch, futures = (
            OfferBatch(self._next.arrivals[:MAX_EVENTS_PER_BATCH], self._next.rejected),
            self._waiting[:MAX_EVENTS_PER_BATCH],
        )
        self._next, self._waiting = (
            OfferBatch(self._next.arrivals[MAX_EVENTS_PER_BATCH:]),
            self._waiting[MAX_EVENTS_PER_BATCH:],
        )
        self._working, self._committing = True, len(futures)
        loop = asyncio.get_running_loop()

        def commit_and_report() -> None:
            try:
                offers = self._run_and_disconnect_on_error(
                    lambda connection: commit_offers_and_rejected_counts(connection, batch)
                )
            except Exception as fault:  # noqa: BLE001 - whatever it was, every offer of the batch must hear of it
                loop.call_soon_threadsafe(
                    self._fail_futures_and_keep_rejected_counts, batch.rejected, futures, fault
                )
            else:
                loop.call_soon_threadsafe(self._resolve_futures_and_end_commit, futures, offers)

        self._thread.submit(commit_and_report)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _resolve_futures_and_end_commit(
        self, futures: list[asyncio.Future[EnqueueResult]], results: list[EnqueueResult]
    ) -> None:
        """Sets the results of a commit, unless a caller went away, and schedules the next commit."""
        for future, offer in zip(futures, results, strict=True):
            if not future.done():
                future.set_result(offer)
        self._end_commit_and_schedule_next()

    def _fail_futures_and_keep_rejected_counts(
        self,
        rejected_counts: Counter[tuple[LedgerKey, str]],
        futures: list[asyncio.Future[EnqueueResult]],
        error: Exception,
    ) -> None:
        """Fails every offer of the batch, keeps its rejected counts for the next commit, and schedules that."""
        self._failures += 1
        self._next.rejected.update(rejected_counts)
        detail = error.detail if isinstance(error, EnqueueFailed) else "queue"
        for future in futures:
            if not future.done():
                future.set_exception(EnqueueFailed(detail, error))
        self._end_commit_and_schedule_next()

    def _end_commit_and_schedule_next(self) -> None:
        """Ends a commit; schedules the next one at once for pending offers, or soon for rejected counts alone."""
        self._committing = 0
        self._working = bool(self._waiting)
        if self._working:
            # After the answers that were just decided: what their readers send next shares the commit.
            asyncio.get_running_loop().call_soon(self._commit_pending_on_writer_thread)
        elif self._next.rejected:
            self._timer = asyncio.get_running_loop().call_later(
                _COUNTS_DELAY_SECONDS, self._commit_pending_on_writer_thread
            )

    def _run_and_disconnect_on_error(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Runs work with the open connection on the thread; after an error the next work opens a new one."""
        if self._connection is None:
            self._connection = self._connect()
        try:
            return action(self._connection)
        except BaseException:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
